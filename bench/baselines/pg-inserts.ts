/** The baseline of payment notifications: an insert and a commit for each one, of the same bytes, with `pg` alone. */
import { randomBytes, randomUUID } from 'node:crypto'
import pg from 'pg'
import { answer, keepBusy } from './answer.ts'

interface Question {
  database: pg.ClientConfig
  poolSize: number
  bytes: number
  atOnce: number
  seconds: number
}

const TABLE =
  'create table if not exists bench_notices (event_key text primary key, body bytea not null)'
const INSERT = 'insert into bench_notices (event_key, body) values ($1, $2)'

let pool: pg.Pool | undefined

answer(async ({ database, poolSize, bytes, atOnce, seconds }: Question) => {
  pool ??= new pg.Pool({ ...database, max: poolSize })
  const connected = pool
  await connected.query(TABLE)
  const body = randomBytes(bytes)
  return keepBusy(atOnce, seconds, async () => {
    await connected.query({ name: 'insert', text: INSERT, values: [randomUUID(), body] })
  })
})
