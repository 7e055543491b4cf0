/** Creates the platform tenant and its first superadmin in an empty database (decisions §2). */

import { randomBytes } from 'node:crypto'
import { isoAt } from '../../lib/clock.ts'
import { InvalidInput } from '../../lib/problems.ts'
import { StartupError } from '../../lib/startup-error.ts'
import { type Passwords, refuseWeakPassword } from '../../platform/crypto/index.ts'
import { lockUntilEnd, type Scopes } from '../../platform/db/index.ts'
import { append, journalEntry, SYSTEM } from '../../platform/journal/index.ts'
import { findPlatformTenant, insertTenant, tenantEntry } from '../tenants/index.ts'
import { insertUser } from '../users/index.ts'

export interface Bootstrapped {
  email: string
  /** The generated password, which must be shown exactly once. Null if the operator has configured the password. */
  password: string | null
}

/** Creates the platform tenant and its first superadmin if missing. Returns null if nothing was created. */
export async function bootstrap(
  db: Scopes,
  passwords: Passwords,
  first: { email: string; password: string | undefined },
): Promise<Bootstrapped | null> {
  if (await db.acrossTenants(findPlatformTenant, 'read')) return null
  const password = first.password ?? randomBytes(12).toString('base64url')
  refuseWeakBootstrap(password, first.email)
  const password_hash = await passwords.hash(password, 'setup')
  const made = await db.acrossTenants(async (tx) => {
    await lockUntilEnd(tx, 'setup')
    if (await findPlatformTenant(tx)) return false
    const tenant = await insertTenant(tx, {
      name: 'Platform',
      subdomain: 'platform',
      is_platform: true,
    })
    const user = await insertUser(tx, {
      tenant_id: tenant.id,
      email: first.email,
      full_name: 'Platform administrator',
      role: 'superadmin',
      department_id: null,
      can_see_all_patients: false,
      password_hash,
      // A generated password must be changed, because readers of the terminal or the container's log know it.
      must_change_password: first.password === undefined,
      email_verified_at: isoAt(db.clock),
    })
    const changes = { bootstrap: true }
    await append(tx, SYSTEM, { ...tenantEntry('tenant.created', tenant.id), changes })
    await append(tx, SYSTEM, { ...journalEntry('user.created', 'user', user), changes })
    return true
  })
  return made ? { email: first.email, password: first.password ? null : password } : null
}

function refuseWeakBootstrap(password: string, email: string): void {
  try {
    refuseWeakPassword(password, email, [])
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error
    throw new StartupError(
      `BOOTSTRAP_ADMIN_PASSWORD: ${error.issues[0]?.msg.replace('Value error, ', '')}.`,
    )
  }
}
