/** A service that exports its audit log, for the tests of the export. */
import type { BackgroundWork } from '../../src/app.ts'
import type { Config } from '../../src/config/config.ts'
import { append, SYSTEM } from '../../src/platform/journal/index.ts'
import type { TestDatabase } from '../support/database.ts'
import { openService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import { parseSyslog } from './parsers.ts'

export const TLS = (port: number): Config['SIEM_URL'] => ({
  transport: 'syslog+tls',
  host: '127.0.0.1',
  port,
})

export const TCP = (port: number): Config['SIEM_URL'] => ({
  transport: 'syslog+tcp',
  host: '127.0.0.1',
  port,
})

const BACKGROUND: BackgroundWork[] = ['siem']

export const openExporter = (config: Partial<Config>, database?: TestDatabase): Promise<Service> =>
  openService({ background: BACKGROUND, config, ...(database ? { database } : {}) })

export async function rowOf({ sql }: TestDatabase) {
  const rows = await sql<{
    id: number
    sequence: number
    epoch: number
    failing_since: string | null
  }>(`select id, sequence, epoch, failing_since from journal_consumers where consumer = 'siem'`)
  return rows[0]
}

/** Waits until a process has the lease of the export, so that its position exists. */
export const exporting = (database: TestDatabase, patience = 60_000) =>
  until('a process exports', async () => (await rowOf(database))?.epoch || undefined, patience)

let written = 0

/** Appends entries that differ in their resource. */
export async function writeEntries(service: Service, count: number): Promise<void> {
  for (let at = 0; at < count; at += 1)
    await service.app.db.acrossTenants((tx) =>
      append(tx, SYSTEM, {
        action: 'tenant.updated',
        tenant_id: null,
        resource_type: 'tenant',
        resource_id: ++written,
      }),
    )
}

/** Writes an entry that records an access to a patient. */
export const writeRead = ({ sql }: TestDatabase) =>
  sql(
    `insert into journal (is_access, action, tenant_id, resource_type, resource_id)
     select true, 'patient.read', id, 'patient', '1' from tenants limit 1`,
  )

/** Returns the ids of all entries after the start of the export. */
export async function idsOf({ sql }: TestDatabase, after: number): Promise<string[]> {
  const rows = await sql<{ id: number }>('select id from journal where id > $1 order by id', [
    after,
  ])
  return rows.map(({ id }) => String(id))
}

export const newestId = async ({ sql }: TestDatabase): Promise<number> =>
  (await sql<{ id: number }>('select max(id) as id from journal'))[0]?.id ?? 0

/** Waits until the export has confirmed every entry. */
export const allConfirmed = (database: TestDatabase) =>
  until('every entry is confirmed', async () => {
    const unread = await database.sql(
      `select from journal j join journal_consumers c on c.consumer = 'siem'
       where (j.xid, j.id) > (c.xid, c.id) limit 1`,
    )
    return unread.length === 0 || undefined
  })

/** Returns the OCSF events of a receiver's messages. A line that a killed receiver has not completed is left out. */
export const eventsOf = (text: string) =>
  text.split('\n').flatMap((line) => {
    try {
      return [JSON.parse(parseSyslog(line).body)]
    } catch {
      return []
    }
  })
