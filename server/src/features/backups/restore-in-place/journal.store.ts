/** The SQL that records a restore in the journal. */
import { sql } from 'kysely'
import { type PgConnection, statement } from '../../../platform/db/index.ts'
import { type Actor, type EntryRow, insertion, rowOf } from '../../../platform/journal/index.ts'
import type { TenantCase } from './access.store.ts'
import { MAX_CASES } from './outcome.ts'

/** Inserts one journal entry for each restored tenant, listing the tenant's records that keep their current access. */
const entries = statement<EntryRow & { cases: string }>((value) => {
  const own = sql`coalesce(${value('cases')}::jsonb -> id::text, '{"total": 0, "cases": []}')`
  return insertion((column) => {
    if (column === 'tenant_id') return sql.ref('id')
    if (column !== 'changes') return value(column)
    return sql`${value('changes')}::jsonb || jsonb_build_object('access_kept', ${own})`
  }, sql`from stage_tenants`)
})

/** Appends an entry to the journal of each restored tenant. The entry lists the access that was not restored. */
export async function recordRestore(
  client: PgConnection,
  actor: Actor,
  { backup_id, changes, cases }: { backup_id: string; changes: object; cases: TenantCase[] },
): Promise<void> {
  const shares = Object.entries(Object.groupBy(cases, ({ tenant_id }) => tenant_id)).map(
    ([tenant, own = []]) => [
      tenant,
      {
        total: own.length,
        cases: own.slice(0, MAX_CASES).map(({ tenant_id: _, ...shown }) => shown),
      },
    ],
  )
  const entry = rowOf(actor, {
    action: 'backup.restored',
    tenant_id: null,
    resource_type: 'backup',
    resource_id: backup_id,
    changes: { ...changes },
  })
  const query = entries({ ...entry, cases: JSON.stringify(Object.fromEntries(shares)) })
  await client.query(query.sql, [...query.parameters])
}
