/** Access rules of operations. Each operation declares a rule, which the service checks before it reads the input. */
import { Problem } from '../../lib/problems.ts'
import { ROLES, type Role } from '../../lib/roles.ts'
import type { Admin, Auditor, Caller, ClinicAdmin, Member, Superadmin } from './caller.ts'

/** An access rule. `C` is the type of the caller that the operation's handler receives. */
export interface OperationAccess<C> {
  /** The name of the rule in `docs/reference/access.md` and in the OpenAPI document. */
  readonly name: string
  /** The roles that may call the operation, or null if it requires no sign-in. */
  readonly roles: readonly Role[] | null
  /** Never set at run time. TypeScript uses this field to infer the caller's type. */
  readonly caller?: C
}

/** Allows all callers. Needs no token, and ignores a token that is sent. */
export const anyone: OperationAccess<null> = { name: 'anyone', roles: null }
export const signedIn: OperationAccess<Caller> = { name: 'signed in', roles: ROLES }
export const admins: OperationAccess<Admin> = { name: 'admin', roles: ['superadmin', 'admin'] }
export const superadmins: OperationAccess<Superadmin> = {
  name: 'superadmin',
  roles: ['superadmin'],
}
/** Allows reading administration data: superadmins of every tenant, admins and auditors of their own tenant. */
export const auditors: OperationAccess<Auditor> = {
  name: 'admin or auditor',
  roles: ['superadmin', 'admin', 'auditor'],
}

export const members: OperationAccess<Member> = {
  name: 'clinic',
  roles: ['admin', 'doctor', 'nurse', 'receptionist', 'auditor'],
}
/** Allows the users of a clinic who edit its records. */
export const recordKeepers: OperationAccess<Member> = {
  name: 'record keeper',
  roles: ['admin', 'doctor', 'nurse', 'receptionist'],
}
/** Allows the users of a clinic who treat patients. */
export const clinicians: OperationAccess<Member> = { name: 'clinician', roles: ['doctor', 'nurse'] }
/** Allows the admins of a clinic, but not superadmins. */
export const clinicAdmins: OperationAccess<ClinicAdmin> = { name: 'clinic admin', roles: ['admin'] }
/** Allows the users of a clinic who review the actions of others. */
export const clinicAuditors: OperationAccess<Member> = {
  name: 'clinic admin or auditor',
  roles: ['admin', 'auditor'],
}

/** Requires that the access rule includes the caller's role. @throws Problem 403 otherwise */
export function requireRole(access: OperationAccess<unknown>, caller: Caller): void {
  if (access.roles?.includes(caller.role)) return
  throw new Problem('role_required', {
    detail: `This operation requires the role ${access.roles?.join(' or ')}. Your role is ${caller.role}.`,
  })
}

/**
 * Requires that a query or body names only the caller's tenant (decisions §2), except for superadmins. @throws Problem
 * 403
 */
export function requireOwnTenant(
  caller: Pick<Caller, 'role' | 'tenant_id'>,
  tenantId: number | undefined,
): void {
  if (tenantId === undefined || caller.role === 'superadmin' || tenantId === caller.tenant_id)
    return
  throw new Problem('other_tenant')
}
