/** Computes the restriction of a session from current data, so that it cannot be outdated. */
import type { Role } from '../../../lib/roles.ts'
import type { Restriction } from '../../../platform/access/index.ts'

/**
 * Returns the restriction of a user's session. If both are required, the change of password comes first, because
 * another person knows the current password. The change ends every session, and the next session then requires the
 * second factor.
 * @param demanded the tenant setting `require_totp`: the roles that must have a second factor
 */
export function restrictionOf(
  user: { role: Role; totp_enabled: boolean; must_change_password: boolean },
  demanded: unknown,
): Restriction | null {
  if (user.must_change_password) return 'password'
  const mustEnrol = !user.totp_enabled && Array.isArray(demanded) && demanded.includes(user.role)
  return mustEnrol ? 'enrolment' : null
}
