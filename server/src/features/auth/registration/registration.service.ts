/** Registers accounts if the tenant's settings allow it (decisions §3). */
import { networkOf, siteOf } from '../../../lib/network.ts'
import { Problem, type Refuse } from '../../../lib/problems.ts'
import type { Origin } from '../../../platform/access/index.ts'
import type { Passwords } from '../../../platform/crypto/index.ts'
import type { Scopes, TenantTx } from '../../../platform/db/index.ts'
import { append, changesBetween, journalEntry } from '../../../platform/journal/index.ts'
import type { Throttle, ThrottleRule } from '../../../platform/throttle/index.ts'
import {
  type AskedTenant,
  findAskedTenant,
  type KnownTenant,
  shareTenant,
} from '../../tenants/index.ts'
import {
  departmentIssue,
  insertUser,
  isEmailTaken,
  type Profile,
  requireDepartment,
} from '../../users/index.ts'
import type { Recovery } from '../recovery/recovery.service.ts'
import type { AskTenant } from '../sign-in/asked-tenant.ts'
import type { Registration } from './registration.schema.ts'

/** Limits registrations from one site: enough for a clinic's first day, too few to test a list of addresses. */
const BY_ADDRESS: ThrottleRule = { name: 'register', free: 30, first: 10, longest: 900 }
/** Limits registrations with a taken address, because this error reveals that the account exists. */
const TAKEN_BY_ADDRESS: ThrottleRule = { name: 'register taken', free: 5, first: 10, longest: 900 }

export const OFFERED_ROLES = ['doctor', 'nurse', 'receptionist'] as const

export interface RegistrationDeps {
  db: Scopes
  passwords: Passwords
  throttle: Throttle
  recovery: Recovery
  askTenant: AskTenant
}

export interface AccountRegistrations {
  /** Checks the department. Calls `refuse` if the tenant does not have it. */
  checkReferences(input: Partial<Registration>, host: string, refuse: Refuse): Promise<void>
  /** Registers an account. @throws Problem 403 if registration is closed, 409 for a taken address, 429 at the limit */
  register(registration: Registration, host: string, origin: Origin): Promise<Profile>
}

export function registrationService(deps: RegistrationDeps): AccountRegistrations {
  const { db, throttle } = deps

  async function findTenant(asked: AskedTenant | undefined): Promise<KnownTenant | undefined> {
    return asked && (await db.acrossTenants((tx) => findAskedTenant(tx, asked), 'read'))
  }

  async function create(
    tenantId: number,
    registration: Registration,
    password_hash: string,
    origin: Origin,
  ): Promise<Profile> {
    const isMailed = await deps.recovery.takeVerification(registration.email)
    const { email, full_name, role, department_id = null } = registration
    return db.inTenant(tenantId, async (tx) => {
      // Reads the tenant again, because its registration may have been closed while the password was hashed.
      const tenant = requireTaking(await shareTenant(tx, tenantId))
      await requireDepartment(tx, tenant.id, department_id)
      const created = await insertUser(tx, {
        tenant_id: tenant.id,
        email,
        full_name,
        role,
        department_id,
        can_see_all_patients: false,
        password_hash,
        email_verified_at: null,
        is_active: modeOf(tenant) === 'open',
        is_pending: modeOf(tenant) === 'approval',
      })
      const owner = { user_id: created.id, user_email: email, origin }
      await append(tx, owner, {
        ...journalEntry('user.registered', 'user', created),
        changes: changesBetween<typeof created>(null, created, [
          'email',
          'full_name',
          'role',
          'department_id',
          'is_active',
          'status',
        ]),
      })
      // Without this mail, the account stays unconfirmed until its owner requests another confirmation mail.
      if (isMailed) await deps.recovery.sendLink(tx, created, 'verify_email', owner)
      return created
    })
  }

  return {
    async checkReferences({ subdomain, department_id }, host, refuse) {
      const tenant = await findTenant(deps.askTenant(subdomain, host))
      // Checks no department if the tenant accepts no registrations, so that its departments are not revealed.
      if (!tenant?.is_active || modeOf(tenant) === 'closed') return
      const issue = await db.inTenant(
        tenant.id,
        (tx) => departmentIssue(tx, tenant.id, department_id),
        'read',
      )
      refuse(['body', 'department_id'], issue)
    },

    async register(registration, host, origin) {
      if (!OFFERED_ROLES.some((role) => role === registration.role))
        throw new Problem('role_not_offered')
      const network = networkOf(origin.ip)
      // Counts by site rather than by network, because one customer can choose among 65,536 IPv6 networks.
      const site = siteOf(network)
      await throttle.count({ rule: BY_ADDRESS, of: site })
      const tenant = requireTaking(await findTenant(deps.askTenant(registration.subdomain, host)))
      return throttle.countRefusals({ rule: TAKEN_BY_ADDRESS, of: site }, 409, async () => {
        await db.inTenant(tenant.id, (tx) => requireFree(tx, tenant.id, registration), 'read')
        const hash = await deps.passwords.hash(registration.password, network)
        return create(tenant.id, registration, hash, origin)
      })
    },
  }
}

/** Returns the tenant. @throws Problem if it is unknown, inactive or accepts no registrations */
function requireTaking(tenant: KnownTenant | undefined): KnownTenant {
  if (!tenant)
    throw new Problem('not_found', { detail: 'No tenant has this subdomain. Check the subdomain.' })
  if (!tenant.is_active) throw new Problem('tenant_inactive')
  if (modeOf(tenant) === 'closed') throw new Problem('registration_closed')
  return tenant
}

/**
 * Runs the cheap checks before the expensive password hash. Checks the department first. A request with an invalid
 * department therefore does not reveal whether the address has an account.
 * @throws InvalidInput for an unknown department, Problem 409 if the address has an account
 */
async function requireFree(
  tx: TenantTx,
  tenantId: number,
  { email, department_id }: Registration,
): Promise<void> {
  await requireDepartment(tx, tenantId, department_id)
  if (await isEmailTaken(tx, tenantId, email)) throw new Problem('email_taken')
}

/** Returns the setting `registration`. Defaults to `open` for demo tenants and to `approval` for all others. */
function modeOf(tenant: KnownTenant): 'open' | 'approval' | 'closed' {
  if (tenant.is_platform) return 'closed'
  const { registration } = tenant.settings
  if (registration === 'open' || registration === 'approval' || registration === 'closed')
    return registration
  return tenant.is_demo ? 'open' : 'approval'
}
