/** Who may call an operation: declared on it, checked before its input is looked at. */
import { Problem } from '../../lib/problems.ts'
import { ROLES, type Role } from '../../lib/roles.ts'
import type { Admin, Auditor, Caller, ClinicAdmin, Member, Superadmin } from './caller.ts'

/** An access rule; `C` is what the operation's handler gets as its caller. */
export interface Access<C> {
  /** The word for it in `docs/access.md` and in the OpenAPI document. */
  readonly name: string
  /** The roles that pass; null when anyone does, signed in or not. */
  readonly roles: readonly Role[] | null
  /** Only for inference: the caller's type. */
  readonly caller?: C
}

/** No token needed; one that is sent is not looked at. */
export const anyone: Access<null> = { name: 'anyone', roles: null }
/** Any signed-in user, for their own things. */
export const signedIn: Access<Caller> = { name: 'signed in', roles: ROLES }
/** Superadmins and admins. */
export const admins: Access<Admin> = { name: 'admin', roles: ['superadmin', 'admin'] }
/** Superadmins alone. */
export const superadmins: Access<Superadmin> = { name: 'superadmin', roles: ['superadmin'] }
/** Reads of the administration: admins, and auditors of their own tenant. */
export const auditors: Access<Auditor> = {
  name: 'admin or auditor',
  roles: ['superadmin', 'admin', 'auditor'],
}

/** Everyone of a clinic. */
export const members: Access<Member> = {
  name: 'clinic',
  roles: ['admin', 'doctor', 'nurse', 'receptionist', 'auditor'],
}
/** Those of a clinic who keep its records. */
export const recordKeepers: Access<Member> = {
  name: 'record keeper',
  roles: ['admin', 'doctor', 'nurse', 'receptionist'],
}
/** Those who treat patients. */
export const clinicians: Access<Member> = { name: 'clinician', roles: ['doctor', 'nurse'] }
/** Admins of a clinic. */
export const clinicAdmins: Access<ClinicAdmin> = { name: 'clinic admin', roles: ['admin'] }
/** Those of a clinic who look at what others have done. */
export const clinicAuditors: Access<Member> = {
  name: 'clinic admin or auditor',
  roles: ['admin', 'auditor'],
}

/** @throws Problem 403 when the caller's role may not call the operation at all */
export function requireRole(access: Access<unknown>, caller: Caller): void {
  if (access.roles?.includes(caller.role)) return
  throw new Problem('role_required', {
    detail: `This operation needs the role ${access.roles?.join(' or ')}; yours is ${caller.role}`,
  })
}

/** @throws Problem 403 when a query or body names a tenant that is not the caller's (decisions §2) */
export function requireOwnTenant(
  caller: Pick<Caller, 'role' | 'tenant_id'>,
  tenantId: number | undefined,
): void {
  if (tenantId === undefined || caller.role === 'superadmin' || tenantId === caller.tenant_id)
    return
  throw new Problem('other_tenant')
}
