/** Who calls, and the values that prove it: only the access rules make the branded ones. */
import type { Role } from '../../lib/roles.ts'

/** Where a request came from, as the journal and the session list show it. */
export interface Origin {
  ip: string
  user_agent: string | null
  /** A UUID. */
  request_id: string
}

/** What may have to be done before anything else: a new password chosen, a second factor set up. */
export type Restriction = 'password' | 'enrolment'

/** What is known of a signed-in user while a request runs. */
export interface Identity {
  user_id: number
  tenant_id: number
  email: string
  role: Role
  /** The department that they are in; null where they are in none. */
  unit_id: number | null
  /** Whether they see the records of every department. */
  sees_all: boolean
  /** The session's id, `jti` in its access tokens. */
  session_id: string
  /** What has to be done before the session may do anything else; null when nothing has. */
  restriction: Restriction | null
}

/** A signed-in caller with the request's origin. */
export interface Caller extends Identity {
  origin: Origin
}

declare const proven: unique symbol

/** A caller who may administer: their own tenant, or as a superadmin every one. */
export type Admin = Caller & { readonly [proven]: 'admin' | 'superadmin' }

/** A caller who operates the platform. */
export type Superadmin = Admin & { readonly [proven]: 'superadmin' }

/** A caller of a clinic: whoever operates the platform sees none of its records (decisions §2). */
export type Member = Caller & { readonly [proven]: 'admin' | 'member' }

/** An admin of a clinic, and no superadmin. */
export type ClinicAdmin = Caller & { readonly [proven]: 'admin' }

/** A caller who may read the administration's records: an admin or an auditor. */
export type Auditor = Caller & { readonly [proven]: 'admin' | 'superadmin' | 'auditor' }
