/** A line of the access table: the target of a call, and the status for each role. */
import type { CallOptions } from '../support/service.ts'
import { CALLERS, type CallerKind, type Target } from './scene.ts'

export interface Aimed extends CallOptions {
  /** The values of the path parameters. */
  path?: Record<string, number | string>
}

export interface Line {
  /** `METHOD path`, as in the contract. */
  name: string
  /** Distinguishes the lines of an operation that has several. */
  what?: string
  /** Selects the records of the target for the call. `token` is the caller's. */
  aim: (target: Target, token: string | undefined) => Aimed
  own: Statuses
  /** The statuses for records of another tenant. Absent if the operation has no target. */
  foreign?: Statuses
}

export type Statuses = Record<CallerKind, number>

/**
 * Returns the statuses for the roles that may call. Every other role gets 403, and a caller without a session gets 401.
 */
function only(statuses: Partial<Statuses>): Statuses {
  const of = (kind: CallerKind) => statuses[kind] ?? (kind === 'nobody' ? 401 : 403)
  return Object.fromEntries(CALLERS.map((kind) => [kind, of(kind)])) as Statuses
}

export const everyone = (status: number): Statuses =>
  Object.fromEntries(CALLERS.map((kind) => [kind, status])) as Statuses
export const signedIn = (status: number): Statuses => ({ ...everyone(status), nobody: 401 })
export const operators = (status: number) => only({ superadmin: status })
export const admins = (superadmin: number, admin = superadmin) => only({ superadmin, admin })
/** Allows only the clinic's own admin, because a superadmin's own tenant is the platform. */
export const clinicAdmin = (admin: number) => admins(404, admin)
export const auditors = (superadmin: number, others = superadmin) =>
  only({ superadmin, admin: others, auditor: others })

export const members = (status: number): Statuses => ({ ...signedIn(status), superadmin: 403 })
export const recordKeepers = (status: number): Statuses => ({ ...members(status), auditor: 403 })
export const clinicians = (status: number) => only({ doctor: status, nurse: status })
export const clinicAuditors = (status: number) => only({ admin: status, auditor: status })
/** Allows only the clinic's own admins, not superadmins. */
export const ownAdmins = (status: number) => only({ admin: status })

export const nothing = () => ({})
export const ofTenant = ({ tenantId }: Target): Aimed => ({ query: { tenant_id: tenantId } })
export const atTenant = ({ tenantId }: Target) => ({ path: { tenant_id: tenantId } })
export const atSealedLog = ({ tenantId }: Target) => ({
  path: { tenant_id: tenantId, tile: '0/000.p/1' },
})
export const atUser = ({ userId }: Target) => ({ path: { user_id: userId } })
export const atWebhook = ({ webhookId }: Target) => ({ path: { webhook_id: webhookId } })
export const atDelivery = ({ webhookId, deliveryId }: Target) => ({
  path: { webhook_id: webhookId, delivery_id: deliveryId },
})
export const atReplay = ({ webhookId, replayId }: Target) => ({
  path: { webhook_id: webhookId, replay_id: replayId },
})
export const atPayment = ({ paymentId }: Target) => ({ path: { payment_id: paymentId } })
export const atNotification = ({ notificationId }: Target) => ({
  path: { notification_id: notificationId },
})
export const atPatient = ({ patientId }: Target) => ({ path: { patient_id: patientId } })
export const atDepartment = ({ departmentId }: Target) => ({ path: { dept_id: departmentId } })

export const newUser = (fields: object): Aimed => ({
  body: {
    email: `${crypto.randomUUID()}@new.test`,
    password: 'correct-Horse-9',
    full_name: 'New',
    role: 'nurse',
    ...fields,
  },
})
/** Returns an account that does not exist and that no earlier request has named. */
export const unknownAccount = () => ({ email: `${crypto.randomUUID()}@own.test`, subdomain: 'own' })
export const registration = (fields: object): Aimed => newUser({ subdomain: 'own', ...fields })
export const named = (fields: object = {}) => ({ name: crypto.randomUUID(), ...fields })
