/** Helpers that make backups, wait for them and read them. */
import { createReadStream } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Header } from '../../src/features/backups/file/format.ts'
import { openBackupKeys } from '../../src/features/backups/file/identity.ts'
import { readBackup } from '../../src/features/backups/file/read.ts'
import { writeBackup } from '../../src/features/backups/file/write.ts'
import { openBackupLocks } from '../../src/features/backups/work/locks.ts'
import { openReading } from '../../src/features/backups/work/reading.ts'
import { purgesOf, purgeTenants } from '../../src/features/tenants/tenants.jobs.ts'
import { SECOND } from '../../src/lib/clock.ts'
import { keysFrom } from '../../src/platform/crypto/index.ts'
import { HEARTBEAT_MS } from '../../src/platform/db/heartbeat.ts'
import { EVERY_TENANT, LOCKS, ownerClient } from '../../src/platform/db/index.ts'
import type { Person } from '../support/clinics.ts'
import { OF_THIS_DATABASE, type TestDatabase } from '../support/database.ts'
import { silentLog } from '../support/server-address.ts'
import { ROOT_KEY, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'

export const backupKeys = () => openBackupKeys([keysFrom(ROOT_KEY)], [])

/** Opens read locks on backups, as a node of the service does. */
export const readingOf = ({ database }: Pick<Service, 'database'>) =>
  openReading(
    openBackupLocks({ openConnection: () => ownerClient(database.address), log: silentLog }),
  )

export const fileOf = ({ dataDir }: Service, id: string) =>
  join(dataDir, 'backups', `${id}.tar.zst.age`)

/** Changes one byte of a file, shortly before its end. */
export async function alter(path: string): Promise<void> {
  const bytes = await readFile(path)
  bytes[bytes.length - 10] = (bytes.at(-10) ?? 0) ^ 1
  await writeFile(path, bytes)
}

/** Requests a backup. Returns the job ID and the backup ID. */
export async function order(
  service: Service,
  { token }: Person,
  body: object = {},
): Promise<{ job_id: string; backup_id: string }> {
  const answer = await service.call('POST', '/api/admin/backup/create', { token, body })
  if (answer.status !== 200) throw new Error(`${answer.status}: ${JSON.stringify(answer.body)}`)
  return answer.body
}

/** Waits until the job has ended. Returns the job. */
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

/**
 * Advances the clock by the second for which a restore waits after it has entered maintenance mode. By then the test's
 * only node knows about maintenance mode. If the job ends without entering it, returns at once.
 */
export async function passMaintenance(
  { app, clock, database }: Service,
  job: string,
): Promise<void> {
  const find = () =>
    database.sql<{ isOver: boolean; tenant: number | null }>(
      `select status in ('completed', 'failed') as "isOver", (select objid::int from pg_locks
         where locktype = 'advisory' and classid = $2 and objsubid = 2 and granted
           and ${OF_THIS_DATABASE} limit 1) as tenant
       from backup_jobs where id = $1`,
      [job, LOCKS.maintenance],
    )
  const tenant = await until('the restore to enter maintenance mode', async () => {
    const [now] = await find()
    return now?.tenant ?? (now?.isOver === false ? undefined : 'over')
  })
  if (tenant === 'over') return
  // The node immediately reads which tenants are in maintenance mode.
  clock.elapse(HEARTBEAT_MS)
  const isRefused = () =>
    Promise.try(() => app.db.requireAvailable(tenant === EVERY_TENANT ? null : tenant)).then(
      () => false,
      () => true,
    )
  await until('the node to hear of it', async () => {
    const [now] = await find()
    return now?.tenant !== tenant || (await isRefused()) || undefined
  })
  clock.elapse(SECOND)
}

/** Makes a backup and waits until it has completed. Returns its ID. */
export async function make(service: Service, person: Person, body: object = {}): Promise<string> {
  const { job_id, backup_id } = await order(service, person, body)
  const job = await ended(service, person, job_id)
  if (job.status !== 'completed') throw new Error(job.error)
  return backup_id
}

/** Returns the contents of a backup: its header, its manifest, and the rows of each table as text fields. */
export async function contents(path: string) {
  const texts: Record<string, string> = {}
  const read = await readBackup(createReadStream(path), await backupKeys(), {
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

/** Purges a clinic, as the nightly purge does after the retention days. */
export async function purgeClinic(service: Service, id: number): Promise<void> {
  await service.database.sql(
    `update tenants set is_active = false, deleted_at = now() - interval '40 days' where id = $1`,
    [id],
  )
  await purgeTonight(service)
}

/** Purges the clinics that were deleted more than `keepDays` days ago. */
export async function purgeTonight({ app, clock }: Service, keepDays = 30): Promise<void> {
  const { signal } = new AbortController()
  const deps = { db: app.db, clock, log: silentLog }
  await purgeTenants(deps, keepDays, signal, purgesOf(Object.values(app.features)))
}

/** Adds incompressible rows to a clinic, about 2 MiB in a backup. */
export const fatten = ({ sql }: TestDatabase, tenantId: number) =>
  sql(
    `insert into journal (tenant_id, action, resource_type, resource_id, changes)
     select $1, 'user.updated', 'user', '1', jsonb_build_object('noise', string_agg(
       encode(sha512((row_no || ' ' || part)::text::bytea), 'base64'), ''))
     from generate_series(1, 2000) row_no, generate_series(1, 16) part group by row_no`,
    [tenantId],
  )

/** Returns the tables that contain rows of a tenant, except tables of past records such as the journal. */
export async function tablesWith({ sql }: TestDatabase, tenantId: number): Promise<string[]> {
  const tables = await sql<{ name: string; column: string }>(
    `select c.relname as name, a.attname as column from pg_class c join pg_attribute a on a.attrelid = c.oid
     where a.attname = case when c.relname = 'tenants' then 'id' else 'tenant_id' end
       and not a.attisdropped and c.relkind in ('r', 'p') and not c.relispartition
       and c.relnamespace = 'public'::regnamespace
       and c.relname not in ('journal', 'journal_resources', 'journal_prunings', 'list_writes', 'refusals',
         'audit_logs', 'audit_leaves', 'audit_tiles', 'audit_verifications', 'audit_findings')`,
  )
  const found: string[] = []
  for (const { name, column } of tables)
    if ((await sql(`select from ${name} where ${column} = $1 limit 1`, [tenantId])).length > 0)
      found.push(name)
  return found.sort()
}

/** Rewrites the backup with changes to its header or its rows. */
export async function* rewritten(
  path: string,
  change: (header: Header) => Header,
  rows: (table: string, text: string) => string = (_, text) => text,
): AsyncGenerator<Uint8Array> {
  const texts: Record<string, string> = {}
  const { header } = await readBackup(createReadStream(path), await backupKeys(), {
    rows(table, part) {
      texts[table] = (texts[table] ?? '') + String(part)
    },
  })
  async function* of(table: string) {
    yield Buffer.from(rows(table, texts[table] ?? ''))
  }
  yield* writeBackup({ header: change(header), rows: of }, await backupKeys(), () => undefined)
}

/** The dependencies of the service that downloads do not use. */
export const unusedBy = (service: Service) => {
  const fails = () => {
    throw new Error('unused')
  }
  return {
    clock: service.clock,
    identify: fails,
    drills: { start: fails, idle: async () => undefined, stop: () => undefined },
  }
}
