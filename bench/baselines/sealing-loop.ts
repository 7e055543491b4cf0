/**
 * The baseline of rotations, with `pg` alone: reads a copy of the patients in batches, decrypts, encrypts and tokenizes
 * each, and writes them back. It derives no keys, counts nothing, and never yields to other requests.
 */
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  randomBytes,
} from 'node:crypto'
import pg from 'pg'
import { answer } from './answer.ts'

export interface Question {
  database: pg.ClientConfig
  /** The lengths of a patient's encrypted fields. */
  fields: number[]
  batch: number
}

const TABLE = 'bench_sealed_patients'
/** The tokens of a patient's name, birth date, identifier, phone and address, with the old and the new key. */
const TOKENS = 12

const key = createSecretKey(randomBytes(32))

function seal(text: Uint8Array): Buffer {
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', key, nonce)
  return Buffer.concat([nonce, cipher.update(text), cipher.final(), cipher.getAuthTag()])
}

function open(sealed: Buffer): Buffer {
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, 12))
  decipher.setAuthTag(sealed.subarray(-16))
  return Buffer.concat([decipher.update(sealed.subarray(12, -16)), decipher.final()])
}

const token = (text: Buffer, kind: number) =>
  createHmac('sha256', key).update(String(kind)).update(text).digest().subarray(0, 16)

interface Made {
  columns: string[]
  ids: string[]
}

async function make(client: pg.Client, fields: readonly number[]): Promise<Made> {
  const columns = fields.map((_, at) => `sealed_${at}`)
  await client.query(`drop table if exists ${TABLE}, ${TABLE}_tokens`)
  await client.query(`create table ${TABLE} (id bigint primary key,
    ${columns.map((name) => `${name} bytea not null`).join(', ')})`)
  await client.query(`create table ${TABLE}_tokens (id bigint not null, token bytea not null,
    primary key (id, token))`)
  await client.query(`create index on ${TABLE}_tokens (token)`)
  const { rows } = await client.query('select id from patients order by id')
  const ids = rows.map(({ id }) => id as string)
  for (let at = 0; at < ids.length; at += 1_000) {
    const some = ids.slice(at, at + 1_000)
    const values = fields.map((length) => some.map(() => seal(Buffer.alloc(length, 'x'))))
    await client.query(
      `insert into ${TABLE} select * from unnest($1::bigint[], ${listsOf(columns, 2)})`,
      [some, ...values],
    )
  }
  await client.query(`vacuum (analyze) ${TABLE}`)
  return { columns, ids }
}

const listsOf = (columns: readonly string[], first: number) =>
  columns.map((_, at) => `$${at + first}::bytea[]`).join(', ')

let connected: Promise<{ client: pg.Client; made: Made }> | undefined

async function connect({ database, fields }: Question) {
  const client = new pg.Client(database)
  await client.connect()
  return { client, made: await make(client, fields) }
}

/** Encrypts all records again. Returns the records per second. */
answer(async (question: Question) => {
  connected ??= connect(question)
  const { client, made } = await connected
  const { columns, ids } = made
  const write = `update ${TABLE} t set ${columns.map((name) => `${name} = v.${name}`).join(', ')}
    from unnest($1::bigint[], ${listsOf(columns, 2)}) as v (id, ${columns.join(', ')}) where t.id = v.id`
  const begun = performance.now()
  for (let at = 0; at < ids.length; at += question.batch) {
    await client.query('begin')
    const { rows } = await client.query({
      name: 'read',
      text: `select * from ${TABLE} where id >= $1 order by id limit $2 for no key update`,
      values: [ids[at], question.batch],
    })
    const opened = rows.map((row) => columns.map((name) => open(row[name])))
    const tokens = opened.flatMap((texts, place) =>
      Array.from({ length: TOKENS }, (_, kind) => ({
        id: rows[place].id,
        token: token(texts[kind % texts.length] as Buffer, kind),
      })),
    )
    const values = columns.map((_, at) => opened.map((texts) => seal(texts[at] as Buffer)))
    await client.query({
      name: 'tokens',
      text: `insert into ${TABLE}_tokens select * from unnest($1::bigint[], $2::bytea[])
        on conflict do nothing`,
      values: [tokens.map(({ id }) => id), tokens.map((one) => one.token)],
    })
    await client.query({
      name: 'write',
      text: write,
      values: [rows.map(({ id }) => id), ...values],
    })
    await client.query('commit')
  }
  const took = performance.now() - begun
  await client.query(`truncate ${TABLE}_tokens`)
  return (ids.length / took) * 1000
})
