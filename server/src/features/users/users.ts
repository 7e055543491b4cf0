/** Users, put together. */
import type { Needs } from '../../core.ts'
import { foldsNames } from '../../platform/db/index.ts'
import type { Feature } from '../../platform/feature.ts'
import { type ResetOperator, resetsOperators } from './operator-reset.ts'
import { userOperations } from './users.routes.ts'
import { type UsersDeps, usersService } from './users.service.ts'
import { countUsers, purgeUsers, saveNameKeys } from './users.store.ts'
import { USER_TABLES } from './users.table.ts'

export function openUsers(
  { db, clock, passwords, throttle }: Needs<'db' | 'clock' | 'passwords' | 'throttle'>,
  handed: Pick<UsersDeps, 'endSessions' | 'passwordSet' | 'leaves' | 'requireSignedIn'>,
): Feature & { resetOperator: ResetOperator } {
  const { endSessions, passwordSet, leaves, requireSignedIn } = handed
  const deps = { db, clock, passwords, throttle, endSessions, passwordSet, leaves, requireSignedIn }
  return {
    name: 'users',
    resetOperator: resetsOperators({ db, passwords, passwordSet }),
    tables: USER_TABLES,
    operations: userOperations(usersService(deps)),
    conflicts: { users__email: 'email_taken' },
    counts: { users_count: countUsers },
    purgeRows: purgeUsers,
    upkeep: [foldsNames(db, { table: 'users', column: 'full_name' }, saveNameKeys)],
  }
}
