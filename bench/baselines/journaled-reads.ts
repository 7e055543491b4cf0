/**
 * The baselines of patient reads. One is Fastify with a route that returns a constant body, the other the query by
 * primary key or of a page, which decrypts as many fields. Each responds after its journal entry is committed.
 */
import {
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  randomBytes,
  randomUUID,
} from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import fastify from 'fastify'
import pg from 'pg'
import { answer, keepBusy } from './answer.ts'

/** The query for a page of a list. */
export interface Page {
  /** The statement, with the tenant as its first value. */
  text: string
  /** A count to run after the page. */
  count?: string
  values: unknown[]
  /** The number of patients on the page. */
  rows: number
}

export interface Question {
  database: pg.ClientConfig
  poolSize: number
  tenantId: number
  userId: number
  /** The lengths of a patient's encrypted fields. */
  fields: number[]
  ids: number[]
  /** The query to run instead of a read by id. */
  page?: Page
  atOnce: number
  seconds: number
}

/** The service's pause between two commits. Entries that arrive during the pause share the next commit. */
const GAP_MS = 2

const INSERT = `with entries as (
    insert into journal (is_access, tenant_id, user_id, user_email, action, resource_type,
      resource_id, changes, ip, user_agent, request_id)
    select true, * from unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[],
      $7::jsonb[], $8::text[], $9::text[], $10::uuid[])
    returning tenant_id, resource_type, created_at, id, changes)
  insert into journal_resources (tenant_id, resource_type, resource_id, created_at, entry_id)
  select tenant_id, resource_type, record::bigint, created_at, id
  from entries, jsonb_array_elements(changes -> 'resource_ids') as record`
const SELECT = `select id, tenant_id, department_id, attending_doctor_id, version, created_at, updated_at,
    deleted_at, data_key_id, sealed_full_name, sealed_birth_date, sealed_sex, sealed_identifiers,
    sealed_phone, sealed_email, sealed_address, sealed_allergies, sealed_notes
  from patients where tenant_id = $2 and deleted_at is null and id = $1`

type Row = unknown[]

/** Commits the rows of all waiting callers in one transaction. */
function sharedCommits(pool: pg.Pool): (row: Row) => Promise<void> {
  let waiting: { row: Row; done: () => void }[] = []
  let running = false
  async function run() {
    running = true
    while (waiting.length > 0) {
      const batch = waiting
      waiting = []
      const columns = batch[0]?.row.map((_, at) => batch.map(({ row }) => row[at]))
      await pool.query({ name: 'entries', text: INSERT, values: columns as unknown[][] })
      for (const { done } of batch) done()
      await delay(GAP_MS)
    }
    running = false
  }
  return (row) =>
    new Promise((done) => {
      waiting.push({ row, done })
      if (!running) void run()
    })
}

const entryOf = ({ tenantId, userId }: Question, id: number): Row => [
  ...[tenantId, userId, 'admin@bench.example', 'patient.read', 'patient', String(id)],
  ...[null, '127.0.0.1', null, randomUUID()],
]

const listEntryOf = ({ tenantId, userId }: Question, ids: unknown[]): Row => [
  ...[tenantId, userId, 'admin@bench.example', 'patient.listed', 'patient', null],
  ...[JSON.stringify({ resource_ids: ids.map(Number) }), '127.0.0.1', null, randomUUID()],
]

let pool: pg.Pool | undefined

/** Serves the body, and returns the address. */
async function serve(question: Question & { body: object }): Promise<string> {
  const record = sharedCommits(poolOf(question))
  const app = fastify()
  app.get('/api/patients/:id', async (request) => {
    await record(entryOf(question, Number((request.params as { id: string }).id)))
    return question.body
  })
  return app.listen({ host: '127.0.0.1', port: 0 })
}

function poolOf({ database, poolSize }: Question): pg.Pool {
  pool ??= new pg.Pool({ ...database, max: poolSize })
  return pool
}

/** Reads one patient or a page, decrypts it and writes a journal entry, repeatedly. Returns the reads per second. */
function loop(question: Question): Promise<number> {
  const { ids, fields, tenantId, page } = question
  const connected = poolOf(question)
  const record = sharedCommits(connected)
  const key = createSecretKey(randomBytes(32))
  const sealed = fields.map((length) => seal(key, 'x'.repeat(length)))
  let turn = 0
  const list = async ({ text, count, values, rows }: Page) => {
    const given = [tenantId, ...values]
    const found = await connected.query({ name: text.slice(-60), text, values: given })
    if (count) await connected.query({ name: count.slice(-60), text: count, values: given })
    for (let shown = 0; shown < rows; shown += 1) for (const field of sealed) open(key, field)
    const shown = found.rows.slice(0, rows).map(({ id }) => id)
    await record(listEntryOf(question, shown))
  }
  return keepBusy(question.atOnce, question.seconds, async () => {
    if (page) return list(page)
    turn += 1
    const id = ids[turn % ids.length] as number
    await connected.query({ name: 'patient', text: SELECT, values: [id, tenantId] })
    for (const field of sealed) open(key, field)
    await record(entryOf(question, id))
  })
}

type Key = ReturnType<typeof createSecretKey>

function seal(key: Key, text: string): Buffer {
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', key, nonce)
  return Buffer.concat([nonce, cipher.update(text), cipher.final(), cipher.getAuthTag()])
}

function open(key: Key, sealed: Buffer): string {
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, 12))
  decipher.setAuthTag(sealed.subarray(-16))
  return decipher.update(sealed.subarray(12, -16), undefined, 'utf8') + decipher.final('utf8')
}

answer((question: Question & { body?: object }): Promise<string | number> => {
  const { body } = question
  return body ? serve({ ...question, body }) : loop(question)
})
