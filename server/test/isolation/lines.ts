/** A line of the table of who gets what: how a call is aimed, and what each role is answered. */
import type { CallOptions } from '../support/service.ts'
import { CALLERS, type CallerKind, type Target } from './scene.ts'

export interface Aimed extends CallOptions {
  /** Values of the path's parameters. */
  path?: Record<string, number | string>
}

export interface Line {
  /** `METHOD path`, as the contract's rows have it. */
  name: string
  /** What is special about the call, where an operation has several lines. */
  what?: string
  /** Aims the call at records; `token` is the caller's. */
  aim: (target: Target, token: string | undefined) => Aimed
  own: Statuses
  /** On the records of another tenant; left out where the operation is aimed at none. */
  foreign?: Statuses
}

export type Statuses = Record<CallerKind, number>

/** The statuses of the roles that may call; every other is answered 403, and nobody 401. */
function only(statuses: Partial<Statuses>): Statuses {
  const of = (kind: CallerKind) => statuses[kind] ?? (kind === 'nobody' ? 401 : 403)
  return Object.fromEntries(CALLERS.map((kind) => [kind, of(kind)])) as Statuses
}

export const everyone = (status: number): Statuses =>
  Object.fromEntries(CALLERS.map((kind) => [kind, status])) as Statuses
export const signedIn = (status: number): Statuses => ({ ...everyone(status), nobody: 401 })
export const operators = (status: number) => only({ superadmin: status })
export const admins = (superadmin: number, admin = superadmin) => only({ superadmin, admin })
/** Of a clinic's own admin alone: a superadmin's own tenant is the platform's. */
export const clinicAdmin = (admin: number) => admins(404, admin)
export const auditors = (superadmin: number, others = superadmin) =>
  only({ superadmin, admin: others, auditor: others })

export const members = (status: number): Statuses => ({ ...signedIn(status), superadmin: 403 })
export const recordKeepers = (status: number): Statuses => ({ ...members(status), auditor: 403 })
export const clinicians = (status: number) => only({ doctor: status, nurse: status })
export const clinicAuditors = (status: number) => only({ admin: status, auditor: status })
/** Of a clinic's own admins, to whom superadmins do not belong. */
export const ownAdmins = (status: number) => only({ admin: status })

export const nothing = () => ({})
export const ofTenant = ({ tenantId }: Target): Aimed => ({ query: { tenant_id: tenantId } })
export const atTenant = ({ tenantId }: Target) => ({ path: { tenant_id: tenantId } })
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
/** An account that is not there, and that nobody has asked for before. */
export const unknownAccount = () => ({ email: `${crypto.randomUUID()}@own.test`, subdomain: 'own' })
export const registration = (fields: object): Aimed => newUser({ subdomain: 'own', ...fields })
export const named = (fields: object = {}) => ({ name: crypto.randomUUID(), ...fields })
