/** Backups in tests: made, waited for, and read again. */
import { createReadStream } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Header } from '../../src/features/backups/file/format.ts'
import { openKeeper } from '../../src/features/backups/file/identity.ts'
import { readBackup } from '../../src/features/backups/file/read.ts'
import { writeBackup } from '../../src/features/backups/file/write.ts'
import { openReading } from '../../src/features/backups/work/reading.ts'
import { purge, purgesOf } from '../../src/features/tenants/tenants.jobs.ts'
import { keysFrom } from '../../src/platform/crypto/index.ts'
import { ownerClient } from '../../src/platform/db/index.ts'
import type { Person } from '../support/clinics.ts'
import type { TestDatabase } from '../support/database.ts'
import { silentLog } from '../support/server-address.ts'
import { ROOT_KEY, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'

export const keeper = () => openKeeper([keysFrom(ROOT_KEY)], [])

/** What says which backups somebody reads, as a node of the service does. */
export const readingOf = ({ database }: Pick<Service, 'database'>) =>
  openReading({ openConnection: () => ownerClient(database.address), log: silentLog })

export const fileOf = ({ dataDir }: Service, id: string) =>
  join(dataDir, 'backups', `${id}.tar.zst.age`)

/** Changes one byte of a file, shortly before its end. */
export async function alter(path: string): Promise<void> {
  const bytes = await readFile(path)
  bytes[bytes.length - 10] = (bytes.at(-10) ?? 0) ^ 1
  await writeFile(path, bytes)
}

/** Asks for a backup. Answers its job's and its own id. */
export async function order(
  service: Service,
  { token }: Person,
  body: object = {},
): Promise<{ job_id: string; backup_id: string }> {
  const answer = await service.call('POST', '/api/admin/backup/create', { token, body })
  if (answer.status !== 200) throw new Error(`${answer.status}: ${JSON.stringify(answer.body)}`)
  return answer.body
}

/** Waits until the job is over. Answers it. */
export function ended(service: Service, { token }: Person, job: string): Promise<any> {
  return until(
    'the job of a backup to end',
    async () => {
      const { body } = await service.call('GET', `/api/admin/backup/status/${job}`, { token })
      return ['completed', 'failed'].includes(body.status) ? body : undefined
    },
    30_000,
  )
}

/** Makes a backup to its end. Answers its id. */
export async function make(service: Service, person: Person, body: object = {}): Promise<string> {
  const { job_id, backup_id } = await order(service, person, body)
  const job = await ended(service, person, job_id)
  if (job.status !== 'completed') throw new Error(job.error)
  return backup_id
}

/** What a backup holds: its header, its manifest, and the rows of each table as fields of text. */
export async function contents(path: string) {
  const texts: Record<string, string> = {}
  const read = await readBackup(createReadStream(path), await keeper(), {
    rows(table, rows) {
      texts[table] = (texts[table] ?? '') + String(rows)
    },
  })
  const rowsOf = (table: string): Record<string, string>[] => {
    const columns = read.header.tables.find(({ name }) => name === table)?.columns ?? []
    const lines = (texts[table] ?? '').split('\n').slice(0, -1)
    return lines.map((line) => {
      const fields = line.split('\t')
      return Object.fromEntries(columns.map((column, index) => [column, fields[index] ?? '']))
    })
  }
  return { ...read, rowsOf }
}

/** Deletes a clinic for good, as the nightly purge does once its days are over. */
export async function purgeClinic(service: Service, id: number): Promise<void> {
  await service.database.sql(
    `update tenants set is_active = false, deleted_at = now() - interval '40 days' where id = $1`,
    [id],
  )
  await purgeTonight(service)
}

/** Deletes for good the clinics that were deleted so many days ago. */
export async function purgeTonight({ app, clock }: Service, keepDays = 30): Promise<void> {
  const { signal } = new AbortController()
  const deps = { db: app.db, clock, log: silentLog }
  await purge(deps, keepDays, signal, purgesOf(Object.values(app.features)))
}

/** Rows of a clinic that no compression makes smaller: some 2 MiB of a backup. */
export const fatten = ({ sql }: TestDatabase, tenantId: number) =>
  sql(
    `insert into journal (tenant_id, action, resource_type, resource_id, changes)
     select $1, 'user.updated', 'user', '1', jsonb_build_object('noise', string_agg(
       encode(sha512((row_no || ' ' || part)::text::bytea), 'base64'), ''))
     from generate_series(1, 2000) row_no, generate_series(1, 16) part group by row_no`,
    [tenantId],
  )

/** The tables that hold rows of a tenant, but for what tells of the past. */
export async function tablesWith({ sql }: TestDatabase, tenantId: number): Promise<string[]> {
  const tables = await sql<{ name: string; column: string }>(
    `select c.relname as name, a.attname as column from pg_class c join pg_attribute a on a.attrelid = c.oid
     where a.attname = case when c.relname = 'tenants' then 'id' else 'tenant_id' end
       and not a.attisdropped and c.relkind in ('r', 'p') and not c.relispartition
       and c.relnamespace = 'public'::regnamespace
       and c.relname not in ('journal', 'journal_resources', 'list_writes', 'refusals')`,
  )
  const found: string[] = []
  for (const { name, column } of tables)
    if ((await sql(`select from ${name} where ${column} = $1 limit 1`, [tenantId])).length > 0)
      found.push(name)
  return found.sort()
}

/** The same backup written anew, with another header or other rows. */
export async function* rewritten(
  path: string,
  change: (header: Header) => Header,
  rows: (table: string, text: string) => string = (_, text) => text,
): AsyncGenerator<Uint8Array> {
  const texts: Record<string, string> = {}
  const { header } = await readBackup(createReadStream(path), await keeper(), {
    rows(table, part) {
      texts[table] = (texts[table] ?? '') + String(part)
    },
  })
  async function* of(table: string) {
    yield Buffer.from(rows(table, texts[table] ?? ''))
  }
  yield* writeBackup({ header: change(header), rows: of }, await keeper(), () => undefined)
}
