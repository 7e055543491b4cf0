/** The texts of each event: its line, and its name in counts. Lines name users, but patients only by id. */

import { ROLES } from '../../../lib/roles.ts'
import type { PublicAction } from '../../../platform/journal/index.ts'
import { numberOf, showCount, spoken, timeOf } from './format.ts'
import { shownName } from './names.ts'

/** An event as it is shown to one reader. */
export interface DescribedEvent {
  action: string
  at: string
  /** True if the event is about the reader's own account. */
  isOwn: boolean
  /** The display name of the acting user. Null if no user acted, or the owner of the account acted. */
  by: string | null
  /** The display name of the account's owner. Null if unknown. */
  whose: string | null
  resourceType: string
  resourceId: string | null
  changes: unknown
}

/** The events that the messenger sends: all public actions except `webhook.test`. */
export type MessengerAction = Exclude<PublicAction, 'webhook.test'>

/** Formats an amount in minor units of a currency. Returns undefined for an invalid amount. */
export type ShowAmount = (minor: unknown, currency: unknown) => string | undefined

interface Words {
  /** The singular and plural names of the event, as in `1 user created` and `5 users created`. */
  one: string
  many: string
  say: (event: DescribedEvent, showAmount: ShowAmount) => string
}

const account = ({ isOwn, whose }: DescribedEvent) =>
  isOwn ? 'your account' : whose === null ? 'an unknown account' : `the account of ${whose}`
const Account = (event: DescribedEvent) =>
  account(event).replace(/^./, (first) => first.toUpperCase())
const by = (event: DescribedEvent) => (event.by === null ? '' : ` by ${event.by}`)

/** Returns the value of a field before or after a change, or undefined if the change does not contain the field. */
export function field(changes: unknown, side: 'before' | 'after', name: string): unknown {
  const values = (changes as Record<string, unknown> | null)?.[side]
  return (values as Record<string, unknown> | null | undefined)?.[name]
}

function department({ changes, resourceId }: DescribedEvent): string {
  const name = field(changes, 'after', 'name') ?? field(changes, 'before', 'name')
  const shown = typeof name === 'string' ? shownName(name) : undefined
  return shown ? `The department ${shown}` : `Department ${numberOf(resourceId)}`
}

function role({ changes }: DescribedEvent): string {
  const given = ROLES.find((one) => one === field(changes, 'after', 'role'))
  return given ? `the role ${given}` : 'another role'
}

function payment({ changes, resourceId }: DescribedEvent, showAmount: ShowAmount): string {
  const amount = showAmount(field(changes, 'after', 'amount'), field(changes, 'after', 'currency'))
  const kind = field(changes, 'after', 'test') === true ? 'test payment' : 'payment'
  return `${kind} ${numberOf(resourceId)}${amount ? ` of ${amount}` : ''}`
}

function Payment(event: DescribedEvent, showAmount: ShowAmount): string {
  const text = payment(event, showAmount)
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** Returns a text that identifies the patient by id. Omits all other data of the entry. */
const Patient = ({ resourceId }: DescribedEvent) => `Patient ${numberOf(resourceId)}`

function refund(event: DescribedEvent, showAmount: ShowAmount): string {
  const { changes } = event
  const given = showAmount(
    field(changes, 'after', 'amount_refunded'),
    field(changes, 'after', 'currency'),
  )
  return `Refunded from ${payment(event, showAmount)}: ${given ?? 'a part'} in total.`
}

const words = (one: string, many: string, say: Words['say']): Words => ({ one, many, say })

export const LINES: Record<MessengerAction, Words> = {
  'tenant.created': words(
    'clinic created',
    'clinics created',
    (e) => `The clinic was created${by(e)}.`,
  ),
  'tenant.updated': words(
    'clinic change',
    'clinic changes',
    (e) => `The name or settings of the clinic were changed${by(e)}.`,
  ),
  'tenant.activated': words(
    'clinic activation',
    'clinic activations',
    (e) => `The clinic was activated again${by(e)}.`,
  ),
  'tenant.deactivated': words(
    'clinic deactivation',
    'clinic deactivations',
    (e) => `The clinic was deactivated${by(e)} and everyone was signed out.`,
  ),
  'tenant.deleted': words(
    'clinic deletion',
    'clinic deletions',
    (e) => `The clinic was deleted${by(e)}.`,
  ),
  'tenant.restored': words(
    'clinic restoration',
    'clinic restorations',
    (e) => `The clinic was restored${by(e)}.`,
  ),
  'department.created': words(
    'department created',
    'departments created',
    (e) => `${department(e)} was created${by(e)}.`,
  ),
  'department.updated': words(
    'department changed',
    'departments changed',
    (e) => `${department(e)} was changed${by(e)}.`,
  ),
  'department.deleted': words(
    'department deleted',
    'departments deleted',
    (e) => `${department(e)} was deleted${by(e)}.`,
  ),
  'user.created': words(
    'user created',
    'users created',
    (e) => `${Account(e)} was created${by(e)}.`,
  ),
  'user.updated': words(
    'user changed',
    'users changed',
    (e) => `${Account(e)} was changed${by(e)}.`,
  ),
  'user.deleted': words(
    'user deleted',
    'users deleted',
    (e) => `${Account(e)} was deleted${by(e)}.`,
  ),
  'user.blocked': words(
    'user blocked',
    'users blocked',
    (e) => `${Account(e)} was blocked and signed out${by(e)}.`,
  ),
  'user.unblocked': words(
    'user unblocked',
    'users unblocked',
    (e) => `${Account(e)} was unblocked${by(e)} and can sign in again.`,
  ),
  'user.role_changed': words(
    'role changed',
    'roles changed',
    (e) => `${Account(e)} was given ${role(e)}${by(e)}.`,
  ),
  'user.password_changed': words(
    'password changed',
    'passwords changed',
    (e) => `The password of ${account(e)} was changed${by(e)} and its sessions were ended.`,
  ),
  'user.sessions_ended': words(
    'sign-out by an administrator',
    'sign-outs by an administrator',
    (e) => `Sessions of ${account(e)} were ended${by(e)}.`,
  ),
  'user.registered': words(
    'user registered',
    'users registered',
    (e) => `${Account(e)} was registered by its owner.`,
  ),
  'user.invited': words(
    'invitation sent',
    'invitations sent',
    (e) => `${Account(e)} was sent an invitation${by(e)}.`,
  ),
  'user.email_verified': words(
    'address confirmed',
    'addresses confirmed',
    (e) => `The e-mail address of ${account(e)} was confirmed.`,
  ),
  'auth.verification_sent': words(
    'confirmation link sent',
    'confirmation links sent',
    (e) => `A link to confirm the e-mail address of ${account(e)} was sent.`,
  ),
  'auth.reset_requested': words(
    'password link sent',
    'password links sent',
    (e) => `A link to choose a new password for ${account(e)} was sent.`,
  ),
  'auth.totp_offered': words(
    'second factor setup started',
    'second factor setups started',
    (e) => `The setup of a second factor for ${account(e)} was started.`,
  ),
  'auth.totp_enabled': words(
    'second factor set up',
    'second factors set up',
    (e) => `A second factor was set up for ${account(e)}.`,
  ),
  'auth.totp_disabled': words(
    'second factor removed',
    'second factors removed',
    (e) => `The second factor of ${account(e)} was removed${by(e)}.`,
  ),
  'auth.login': words('sign-in', 'sign-ins', (e) => `Someone signed in to ${account(e)}.`),
  'auth.login_failed': words(
    'rejected sign-in',
    'rejected sign-ins',
    (e) => `A sign-in to ${account(e)} was rejected.`,
  ),
  'auth.token_refreshed': words(
    'session renewed',
    'sessions renewed',
    (e) => `A session of ${account(e)} was renewed.`,
  ),
  'auth.refresh_reused': words(
    'used token sent again',
    'used tokens sent again',
    (e) => `A used refresh token of ${account(e)} was sent again, so its session was ended.`,
  ),
  'auth.logout': words('sign-out', 'sign-outs', (e) => `Someone signed out of ${account(e)}.`),
  'auth.session_confirmed': words(
    'console session confirmed',
    'console sessions confirmed',
    (e) => `A console session of ${account(e)} was confirmed with the password.`,
  ),
  'auth.session_revoked': words(
    'session ended by its owner',
    'sessions ended by their owners',
    (e) => `A session of ${account(e)} was ended from another session.`,
  ),
  'auth.session_ended': words(
    'oldest session ended',
    'oldest sessions ended',
    (e) => `The oldest session of ${account(e)} was ended because of a new sign-in.`,
  ),
  'payment.updated': words(
    'payment in progress',
    'payments in progress',
    (e, amount) => `${Payment(e, amount)} is in progress.`,
  ),
  'payment.succeeded': words(
    'payment completed',
    'payments completed',
    (e, amount) => `${Payment(e, amount)} was completed.`,
  ),
  'payment.failed': words(
    'payment failed',
    'payments failed',
    (e, amount) => `${Payment(e, amount)} failed. Another attempt may follow.`,
  ),
  'payment.canceled': words(
    'payment canceled',
    'payments canceled',
    (e, amount) => `${Payment(e, amount)} was canceled.`,
  ),
  'payment.refunded': words('refund', 'refunds', refund),
  'patient.created': words(
    'patient created',
    'patients created',
    (e) => `${Patient(e)} was created${by(e)}.`,
  ),
  'patient.updated': words(
    'patient changed',
    'patients changed',
    (e) => `${Patient(e)} was changed${by(e)}.`,
  ),
  'patient.deleted': words(
    'patient deleted',
    'patients deleted',
    (e) => `${Patient(e)} was deleted${by(e)}.`,
  ),
  'patient.restored': words(
    'patient restored',
    'patients restored',
    (e) => `${Patient(e)} was restored${by(e)}.`,
  ),
  'patient.break_glass': words(
    'break-glass access',
    'break-glass accesses',
    (e) =>
      `The record of patient ${numberOf(e.resourceId)} was opened with break-glass (emergency access)${by(e)}.`,
  ),
  'backup.created': words('backup', 'backups', (e) => `A backup was created${by(e)}.`),
  'backup.failed': words(
    'failed backup',
    'failed backups',
    () => 'A backup failed. The list of backups shows the cause.',
  ),
  'backup.verified': words(
    'backup verification',
    'backup verifications',
    () => 'A backup was verified.',
  ),
  'backup.rewritten': words(
    'backup rewritten',
    'backups rewritten',
    () => 'A backup was rewritten without clinics that were permanently deleted.',
  ),
  'backup.restored': words(
    'backup restore',
    'backup restores',
    (e) => `The clinic was restored from a backup${by(e)} and everyone was signed out.`,
  ),
  'backup.downloaded': words(
    'backup download',
    'backup downloads',
    (e) => `A backup was downloaded${by(e)}.`,
  ),
  'self_healing.proposed': words(
    'fault found',
    'faults found',
    () => 'A fault in the service was found and reported to its operator.',
  ),
  'self_healing.applied': words(
    'fault repaired',
    'faults repaired',
    (e) => `A fault in the service was repaired${by(e)}.`,
  ),
  'self_healing.failed': words(
    'repair failed',
    'repairs failed',
    (e) => `A repair of the service${by(e)} failed.`,
  ),
  'self_healing.deleted': words(
    'repair removed',
    'repairs removed',
    (e) => `A repair was removed from the catalogue${by(e)}.`,
  ),
  'self_healing.seeded': words(
    'repair catalogue reset',
    'repair catalogue resets',
    (e) => `The built-in repairs were added to the catalogue${by(e)}.`,
  ),
  'encryption.rotation_started': words(
    'key rotation started',
    'key rotations started',
    (e) => `A rotation of the encryption keys was started${by(e)}.`,
  ),
  'encryption.rotation_completed': words(
    'key rotation completed',
    'key rotations completed',
    () => 'The rotation of the encryption keys is complete.',
  ),
  'encryption.rotation_failed': words(
    'failed key rotation',
    'failed key rotations',
    () => 'The rotation of the encryption keys failed, because some records cannot be decrypted.',
  ),
  'encryption.root_key_rotated': words(
    'root key rotation',
    'root key rotations',
    () => 'The root key was replaced.',
  ),
  'encryption.root_key_destroyed': words(
    'destroyed root key',
    'destroyed root keys',
    () => 'A root key was destroyed, because no backup needs it any longer or because it was lost.',
  ),
  'backup.deleted': words(
    'deleted backup',
    'deleted backups',
    (e) => `A backup was deleted${by(e)}.`,
  ),
}

const wordsOf = (action: string): Words | undefined =>
  Object.hasOwn(LINES, action) ? LINES[action as MessengerAction] : undefined

/** Returns the time and description of an event on one line: `21 Nov 08:30 UTC: …`. */
export function lineOf(event: DescribedEvent, showAmount: ShowAmount): string {
  const known = wordsOf(event.action)
  const { resourceType, resourceId } = event
  // The action is unknown if a newer release runs at the same time and has added it.
  const say =
    known?.say(event, showAmount) ??
    `${spoken(event.action)} (${spoken(resourceType)} ${numberOf(resourceId)}).`
  return `${timeOf(event.at)}: ${say}`
}

/** Returns the number and name of events with this action, such as `4,980 users created`. */
export function countOf(action: string, count: number): string {
  const known = wordsOf(action)
  const name = known ? (count === 1 ? known.one : known.many) : `× ${spoken(action)}`
  return `${showCount(count)} ${name}`
}
