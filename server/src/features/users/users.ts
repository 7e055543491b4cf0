import type { Needs } from '../../core.ts'
import { foldsNames } from '../../platform/db/index.ts'
import type { Feature } from '../../platform/feature/feature.ts'
import { type ResetOperator, resetsOperators } from './operator-reset.ts'
import { USERS_ATTENTION, USERS_FIGURES } from './overview.ts'
import { USER_COLUMNS } from './users.restore.ts'
import { userOperations } from './users.routes.ts'
import { type UsersDeps, usersService } from './users.service.ts'
import { countUsers, purgeUsers, saveUserNameKeys } from './users.store.ts'
import { USER_TABLES } from './users.table.ts'

type Handed = 'endSessions' | 'passwordSet' | 'accountMails' | 'leaves' | 'requireSignedIn'

export function openUsers(
  { db, passwords, throttle }: Needs<'db' | 'passwords' | 'throttle'>,
  handed: Pick<UsersDeps, Handed>,
): Feature & { resetOperator: ResetOperator } {
  const { endSessions, passwordSet, accountMails, leaves, requireSignedIn } = handed
  const own = { db, passwords, throttle }
  const deps = { ...own, endSessions, passwordSet, accountMails, leaves, requireSignedIn }
  return {
    name: 'users',
    resetOperator: resetsOperators({ db, passwords, passwordSet }),
    tables: USER_TABLES,
    columns: USER_COLUMNS,
    operations: userOperations(usersService(deps)),
    conflicts: { users__email: 'email_taken' },
    counts: { users_count: countUsers },
    attention: USERS_ATTENTION,
    figures: USERS_FIGURES,
    purgeRows: purgeUsers,
    upkeep: [foldsNames(db, { table: 'users', column: 'full_name' }, saveUserNameKeys)],
  }
}
