/** The baseline of refreshes: one update and one insert in a durable transaction, with `pg` alone. */
import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { answer, keepBusy } from './answer.ts'

interface Question {
  database: pg.ClientConfig
  poolSize: number
  atOnce: number
  seconds: number
}

const TABLE = `
  create table if not exists bench_rotation (
    token_hash bytea primary key,
    session_id integer not null,
    issued_at timestamptz not null default now(),
    spent_at timestamptz
  )`
const SPEND =
  'update bench_rotation set spent_at = now() where token_hash = $1 and spent_at is null'
const ISSUE = 'insert into bench_rotation (token_hash, session_id) values ($1, $2)'

let pool: pg.Pool | undefined
const held: Buffer[] = []

answer(async ({ database, poolSize, atOnce, seconds }: Question) => {
  pool ??= new pg.Pool({ ...database, max: poolSize })
  const connected = pool
  await connected.query(TABLE)
  for (let lane = held.length; lane < atOnce; lane += 1) {
    const first = randomBytes(32)
    await connected.query(ISSUE, [first, lane])
    held.push(first)
  }
  return keepBusy(atOnce, seconds, async (lane) => {
    const next = randomBytes(32)
    const client = await connected.connect()
    try {
      await client.query('begin')
      await client.query(SPEND, [held[lane]])
      await client.query(ISSUE, [next, lane])
      await client.query('commit')
    } finally {
      client.release()
    }
    held[lane] = next
  })
})
