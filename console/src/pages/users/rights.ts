/** Decides what the current user may change of another user, by the same rules as the service. */
import type { Person } from '../../session/index.ts'
import { isAdministrator, type Role } from '../../words/roles.ts'
import type { User } from './data.ts'

/**
 * The changes that the reader may make of a user: all of them; those of the own account; none, because the user is a
 * superadmin; or none, because the role of the reader only reads.
 */
export type UserRights = 'all' | 'own' | 'superadmin' | 'reader'

/** Returns what the reader may change of a user. */
export function rightsOver(user: User, reader: Pick<Person, 'role' | 'user_id'>): UserRights {
  if (!isAdministrator(reader.role)) return 'reader'
  if (user.id === reader.user_id) return 'own'
  return user.role === 'superadmin' && reader.role !== 'superadmin' ? 'superadmin' : 'all'
}

/** Returns the roles that the current user may assign. */
export const rolesToGive = (reader: Pick<Person, 'role'>, roles: readonly Role[]): Role[] =>
  roles.filter((role) => role !== 'superadmin' || reader.role === 'superadmin')
