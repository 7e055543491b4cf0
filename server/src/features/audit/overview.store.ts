/** The SQL query for the latest changes, which the overview shows. */
import type { TenantTx } from '../../platform/db/index.ts'
import { ACTIONS, type Action, groupOf } from '../../platform/journal/index.ts'
import type { StoredEntry } from './audit.schema.ts'
import { selectEntries } from './audit.store.ts'

const CHANGING_GROUPS: readonly string[] = [
  'tenant',
  'department',
  'user',
  'webhook',
  'payment',
  'backup',
  'encryption',
  'self_healing',
  'patient',
]
/** The actions that administrators regard as changes: not reads, sign-ins or preferences. */
const CHANGES = (Object.keys(ACTIONS) as Action[]).filter(
  (action) =>
    CHANGING_GROUPS.includes(groupOf(action)) &&
    !/[.](read|listed|searched|exported|purged)$/.test(action),
)

/** Returns the latest changes, newest first. */
export function listLatestChanges(tx: TenantTx, limit: number): Promise<StoredEntry[]> {
  return selectEntries(tx)
    .where('is_access', '=', false)
    .where('action', 'in', CHANGES)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
}
