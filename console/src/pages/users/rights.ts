/** Decides how the reader (the signed-in user) may change another user, by the same rules as the service. */
import type { Person } from '../../session/index.ts'
import { isAdministrator, type Role } from '../../words/roles.ts'
import type { User } from './data.ts'

/**
 * The changes that the reader may make to a user. `all` allows all changes, and `own` those of the reader's own
 * account. The other values allow none: the user is a superadmin, or the reader's role only reads.
 */
export type UserRights = 'all' | 'own' | 'superadmin' | 'reader'

/** Returns the changes that the reader may make to a user. */
export function rightsOver(user: User, reader: Pick<Person, 'role' | 'user_id'>): UserRights {
  if (!isAdministrator(reader.role)) return 'reader'
  if (user.id === reader.user_id) return 'own'
  return user.role === 'superadmin' && reader.role !== 'superadmin' ? 'superadmin' : 'all'
}

/** Returns the roles that the reader may assign. */
export const rolesToGive = (reader: Pick<Person, 'role'>, roles: readonly Role[]): Role[] =>
  roles.filter((role) => role !== 'superadmin' || reader.role === 'superadmin')
