/** A patient's encrypted fields, read from PostgreSQL by primary key or from a cache server, and decrypted. */
import { createCipheriv, createDecipheriv, createSecretKey, randomBytes } from 'node:crypto'
import pg from 'pg'
import { answer, keepBusy } from './answer.ts'
import { openRedis } from './redis.ts'

export interface Question {
  from: 'postgres' | 'redis'
  database: pg.ClientConfig
  redisPort: number
  poolSize: number
  atOnce: number
  seconds: number
}

const PATIENTS = 10_000
const FIELDS = [
  'Paula Patient-Lindqvist',
  '1961-05-14',
  'female',
  '[{"system":"insurer","value":"A123456789"}]',
  '+46 8 555 0101',
  'paula@patients.example',
  'Long Street 12, 111 22 Old Town',
  '["penicillin"]',
  'Comes in spring and autumn. '.repeat(8),
]
const COLUMNS = FIELDS.map((_, at) => `sealed_${at}`)
const TABLE = 'bench_sealed_reads'
const PREFIX = `wardkeep-bench:${process.pid}:`

const key = createSecretKey(randomBytes(32))

function seal(text: string): Buffer {
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', key, nonce)
  return Buffer.concat([nonce, cipher.update(text), cipher.final(), cipher.getAuthTag()])
}

function open(sealed: Buffer): string {
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, 12))
  decipher.setAuthTag(sealed.subarray(-16))
  return decipher.update(sealed.subarray(12, -16), undefined, 'utf8') + decipher.final('utf8')
}

const packed = (values: readonly Buffer[]): Buffer =>
  Buffer.concat(
    values.flatMap((value) => [Buffer.from(Uint16Array.of(value.length).buffer), value]),
  )

function unpacked(value: Buffer): Buffer[] {
  const values: Buffer[] = []
  for (let at = 0; at < value.length; ) {
    const end = at + 2 + value.readUInt16LE(at)
    values.push(value.subarray(at + 2, end))
    at = end
  }
  return values
}

type Read = (lane: number, id: number) => Promise<Buffer[]>

/** Functions that store the patients and return a function that reads one. */
const SOURCES: Record<Question['from'], (question: Question) => Promise<Read>> = {
  async postgres({ database, poolSize }) {
    const pool = new pg.Pool({ ...database, max: poolSize })
    await pool.query(`drop table if exists ${TABLE}`)
    await pool.query(`create table ${TABLE} (id bigint primary key,
      ${COLUMNS.map((name) => `${name} bytea not null`).join(', ')})`)
    for (let id = 1; id <= PATIENTS; id += 1)
      await pool.query({
        name: 'insert',
        text: `insert into ${TABLE} values ($1, ${COLUMNS.map((_, at) => `$${at + 2}`).join(', ')})`,
        values: [id, ...FIELDS.map(seal)],
      })
    await pool.query(`vacuum (analyze) ${TABLE}`)
    const text = `select ${COLUMNS.join(', ')} from ${TABLE} where id = $1`
    return async (_lane, id) => {
      const { rows } = await pool.query({ name: 'read', text, values: [id], rowMode: 'array' })
      return rows[0] as Buffer[]
    }
  },
  async redis({ redisPort, poolSize }) {
    const connections = Array.from({ length: poolSize }, () => openRedis(redisPort))
    const ask = (lane: number) => connections[lane % poolSize] as ReturnType<typeof openRedis>
    for (let id = 1; id <= PATIENTS; id += 1)
      await ask(id)('SET', `${PREFIX}${id}`, packed(FIELDS.map(seal)), 'EX', '600')
    return async (lane, id) =>
      unpacked((await ask(lane)('GET', `${PREFIX}${id}`)) ?? Buffer.alloc(0))
  },
}

const opened = new Map<Question['from'], Promise<Read>>()

/** Returns the number of reads per second. */
answer(async (question: Question) => {
  const read = opened.get(question.from) ?? SOURCES[question.from](question)
  opened.set(question.from, read)
  const one = await read
  let turn = 0
  return keepBusy(question.atOnce, question.seconds, async (lane) => {
    turn += 1
    const fields = (await one(lane, 1 + (turn % PATIENTS))).map(open)
    if (fields.length !== FIELDS.length) throw new Error('a patient was not there')
  })
})
