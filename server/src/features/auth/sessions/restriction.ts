/** What a session is held to, derived from what is true now: nothing of it is stored, so nothing gets old. */
import type { Role } from '../../../lib/roles.ts'
import type { Restriction } from '../../../platform/access/index.ts'

/**
 * The password comes first, as whoever set it for the user knows it: once it is changed, every
 * session ends, and the next one may be held to the second factor.
 * @param demanded the tenant's setting `require_totp`: the roles that must have a second factor
 */
export function restrictionOf(
  user: { role: Role; totp_enabled: boolean; must_change_password: boolean },
  demanded: unknown,
): Restriction | null {
  if (user.must_change_password) return 'password'
  const mustEnrol = !user.totp_enabled && Array.isArray(demanded) && demanded.includes(user.role)
  return mustEnrol ? 'enrolment' : null
}
