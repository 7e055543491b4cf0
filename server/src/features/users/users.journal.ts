import type { Caller } from '../../platform/access/index.ts'
import type { TenantTx } from '../../platform/db/index.ts'
import {
  type Action,
  actorOf,
  append,
  changesBetween,
  journalEntry,
} from '../../platform/journal/index.ts'
import type { User } from './users.schema.ts'

const FIELDS = [
  'email',
  'full_name',
  'role',
  'department_id',
  'can_see_all_patients',
  'is_active',
  'status',
  'must_change_password',
] as const

/** Writes the journal entry of a user's change. `before` is null for a created user, `after` for a deleted user. */
export async function appendUserChange(
  tx: TenantTx,
  caller: Caller,
  action: Action,
  before: User | null,
  after: User | null,
  more: Record<string, unknown> = {},
): Promise<void> {
  const user = (after ?? before) as User
  tx.invalidate(`user:${user.id}`)
  await append(tx, actorOf(caller), {
    ...journalEntry(action, 'user', user),
    changes: { ...changesBetween<User>(before, after, FIELDS), ...more },
  })
}
