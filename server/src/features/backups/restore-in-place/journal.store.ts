/** The SQL that records a restore in the journal. */
import type { EntryKey, PgConnection } from '../../../platform/db/index.ts'
import { type Actor, appendOn } from '../../../platform/journal/index.ts'
import type { TenantCase } from './access.store.ts'
import { MAX_CASES } from './outcome.ts'

interface RestoreRecord {
  backup_id: string
  changes: object
  cases: TenantCase[]
}

/** Appends an entry to the journal of each restored tenant. The entry lists the access that was not restored. */
export async function recordRestore(
  client: PgConnection,
  { actor, entryKey }: { actor: Actor; entryKey: EntryKey },
  { backup_id, changes, cases }: RestoreRecord,
): Promise<void> {
  const { rows } = await client.query<{ id: string }>('select id from stage_tenants order by id')
  const casesOf = Map.groupBy(cases, ({ tenant_id }) => tenant_id)
  const entries = rows.map(({ id }) => {
    const own = casesOf.get(Number(id)) ?? []
    const shown = own.slice(0, MAX_CASES).map(({ tenant_id: _, name: _name, ...one }) => one)
    return {
      action: 'backup.restored' as const,
      tenant_id: Number(id),
      resource_type: 'backup',
      resource_id: backup_id,
      changes: { ...changes, access_kept: { total: own.length, cases: shown } },
    }
  })
  await appendOn(client, entryKey, actor, entries)
}
