/** The callers of operations. Only access rules create the branded types, such as `Admin`. */

import type { Role } from '../../lib/roles.ts'
import type { TenantTx } from '../db/index.ts'

/** The origin of a request. The journal and the list of sessions show it. */
export interface Origin {
  ip: string
  user_agent: string | null
  /** The id of the request: a UUID that the service generates. */
  request_id: string
}

/** A step that the user must take first: choosing a new password, or enrolling a second factor. */
export type Restriction = 'password' | 'enrolment'

/** The facts about a signed-in user that apply while a request runs. */
export interface Identity {
  user_id: number
  tenant_id: number
  email: string
  role: Role
  /** The id of the user's department, or null if the user belongs to none. */
  unit_id: number | null
  /** True if the user may see the records of every department. */
  sees_all: boolean
  /** The id of the session, which its access tokens contain as `jti`. */
  session_id: string
  /** The step that the user must complete before any other operation, or null if there is none. */
  restriction: Restriction | null
}

export interface Caller extends Identity {
  origin: Origin
}

declare const verifiedRole: unique symbol

/** A caller who may administer their own tenant, or as a superadmin every tenant. */
export type Admin = Caller & { readonly [verifiedRole]: 'admin' | 'superadmin' }

/** A caller who operates the platform and has access to every tenant's administration data. */
export type Superadmin = Admin & { readonly [verifiedRole]: 'superadmin' }

/** A user of a clinic. Superadmins are not members, because they must not see a clinic's records (decisions §2). */
export type Member = Caller & { readonly [verifiedRole]: 'admin' | 'member' }

/** An admin of a clinic, but never a superadmin. */
export type ClinicAdmin = Caller & { readonly [verifiedRole]: 'admin' }

/** A caller who may read administration records: an admin or an auditor. */
export type Auditor = Caller & { readonly [verifiedRole]: 'admin' | 'superadmin' | 'auditor' }

/**
 * Checks the session a second time, within the transaction of an operation. Rejects a caller whose session has ended since the request arrived, by a block, a role change or a deactivated
 * tenant. Sends its query immediately. If the caller takes a lock first, the query sees changes that were made while
 * waiting for that lock. A blocked user therefore cannot undo their own block. The function is passed in, because
 * sessions depend on this layer and not the reverse.
 * @throws Problem 401 if the session has ended
 */
export type RequireSignedIn = (tx: TenantTx, caller: Caller) => Promise<void>
