/** The events that webhooks can subscribe to, each with a message as it would come. */
import { ACTIONS, PUBLIC_ACTIONS, type PublicAction } from '../../../platform/journal/index.ts'
import type { EventDescription } from '../webhooks.schema.ts'
import { type EventEntry, messageBody } from './message.ts'

type Example = Pick<EventEntry, 'resource_type' | 'resource_id' | 'user_id' | 'changes'>

const [SUPERADMIN, ADMIN, NURSE] = [1, 41, 57]

const about =
  (resource_type: string, resource_id: string | null, by: number) =>
  (changes: object | null = null, user_id: number | null = by): Example => ({
    resource_type,
    resource_id,
    user_id,
    changes,
  })

const tenant = about('tenant', '3', SUPERADMIN)
const department = about('department', '12', ADMIN)
const user = about('user', String(NURSE), ADMIN)
const session = about('session', '3f0c2b1e-52a4-4c0e-9a53-1f2d6b7a9c10', NURSE)
const webhook = about('webhook', '5', ADMIN)
/** Nobody's doing: its provider says so. */
const payment = (before: object | null, after: object) =>
  about('payment', '81', ADMIN)({ before, after }, null)

const active = { is_active: true }
const inactive = { is_active: false }
const northClinic = { name: 'North Clinic', subdomain: 'north', settings: {}, ...active }
const surgery = { name: 'Surgery', head_doctor_id: null }
const registered = {
  email: 'nurse@north.example',
  full_name: 'Nora Nurse',
  role: 'nurse',
  department_id: 12,
  is_active: true,
}
const authorized = {
  provider: 'cardnet',
  provider_payment_id: 'pay_4f2b',
  status: 'authorized',
  amount: 10_000,
  amount_refunded: 0,
  currency: 'EUR',
}
const paid = { ...authorized, status: 'succeeded' }
const nurse = { ...registered, can_see_all_patients: false, must_change_password: false }

/** As the journal's entries of the action are; a test holds them against real ones. */
const EXAMPLES: Record<PublicAction, Example> = {
  'tenant.created': tenant({ before: null, after: northClinic }),
  'tenant.updated': tenant({ before: { name: 'North' }, after: { name: 'North Clinic' } }),
  'tenant.activated': tenant({ before: inactive, after: active }),
  'tenant.deactivated': tenant({ before: active, after: inactive }),
  'tenant.deleted': tenant(),
  'tenant.restored': tenant(null, null),
  'department.created': department({ before: null, after: surgery }),
  'department.updated': department({ before: surgery, after: { ...surgery, head_doctor_id: 44 } }),
  'department.deleted': department({ before: surgery, after: null }),
  'user.created': user({ before: null, after: nurse }),
  'user.updated': user({ before: { department_id: 12 }, after: { department_id: 14 } }),
  'user.deleted': user({ before: nurse, after: null }),
  'user.blocked': user({ before: active, after: inactive }),
  'user.unblocked': user({ before: inactive, after: active }),
  'user.role_changed': user({ before: { role: 'nurse' }, after: { role: 'doctor' } }),
  'user.password_changed': user({ before: {}, after: {} }),
  'user.registered': user({ before: null, after: registered }, NURSE),
  'user.email_verified': user(null, NURSE),
  'auth.verification_sent': user(null, NURSE),
  'auth.reset_requested': user(null, NURSE),
  'auth.totp_offered': user(null, NURSE),
  'auth.totp_enabled': user(null, NURSE),
  'auth.totp_disabled': user(),
  'auth.login': session(),
  'auth.login_failed': { ...session({ reason: 'invalid_credentials' }), resource_id: null },
  'auth.token_refreshed': session(),
  'auth.refresh_reused': session(),
  'auth.logout': session({ sessions: 1 }),
  'auth.session_revoked': session({ sessions: 1 }),
  'auth.session_ended': session(null),
  'payment.updated': payment(null, authorized),
  'payment.succeeded': payment(authorized, paid),
  'payment.failed': payment(authorized, { ...authorized, status: 'failed' }),
  'payment.canceled': payment(authorized, { ...authorized, status: 'canceled' }),
  'payment.refunded': payment(paid, {
    ...paid,
    status: 'partially_refunded',
    amount_refunded: 2_500,
  }),
  'webhook.test': webhook(),
}

/** Every public action of this release, with the whole body of a message about it. */
export const CATALOGUE: readonly EventDescription[] = PUBLIC_ACTIONS.map((name, index) => ({
  name,
  description: ACTIONS[name],
  example: JSON.parse(
    messageBody({
      ...EXAMPLES[name],
      id: 1001 + index,
      tenant_id: 3,
      action: name,
      created_at: '2026-11-21T08:30:00.000Z',
    }),
  ),
}))
