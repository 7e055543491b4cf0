/** Seals entries of the journal in the transparency logs, as the background work does. */
import { SEALER } from '../../src/features/audit/transparency/sealer.ts'
import { follow } from '../../src/platform/journal/index.ts'
import { silentLog } from './server-address.ts'
import type { Service } from './service.ts'

/** Seals every entry of the journal. Waits for transactions of other tests on the same database server. */
export async function sealAll({ app }: Pick<Service, 'app'>): Promise<void> {
  const follower = follow(app.db, silentLog, SEALER)
  await follower.idle()
  await follower.stop()
}

/** Seals every entry, and returns the id of the first entry of a tenant. */
export async function sealedEntryOf(service: Service, tenantId: number): Promise<number> {
  await sealAll(service)
  const [leaf] = await service.database.sql<{ entry_id: number }>(
    'select entry_id from audit_leaves where tenant_id = $1 order by index limit 1',
    [tenantId],
  )
  if (!leaf) throw new Error(`the tenant ${tenantId} has no entries`)
  return leaf.entry_id
}

/** Seals every entry. Returns the distinct marks of entries with these actions. */
export async function marksOf(service: Service, actions: readonly string[]): Promise<string[]> {
  await sealAll(service)
  const found = await service.database.sql<{ mark: string }>(
    `select distinct mark from audit_leaves join journal on journal.id = entry_id
     where action = any($1)`,
    [actions],
  )
  return found.map(({ mark }) => mark)
}
