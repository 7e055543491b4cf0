/**
 * What is said of each event: a line, and what many of them are called. People of the tenant are named,
 * patients never: of what is about them there is the action and a number.
 */

import { ROLES } from '../../../lib/roles.ts'
import type { PublicAction } from '../../../platform/journal/index.ts'
import { numberOf, showCount, spoken, timeOf } from './format.ts'
import { shownName } from './names.ts'

/** An event as one reader is told of it. */
export interface Told {
  action: string
  /** ISO 8601. */
  at: string
  /** Whether it is about the reader's own account. */
  isOwn: boolean
  /** Who did it, as it can be shown; null where nobody did, or the owner of the account. */
  by: string | null
  /** Whose account it is about, as it can be shown; null where nobody knows. */
  whose: string | null
  resourceType: string
  resourceId: string | null
  changes: unknown
}

/** The events that the messenger tells of: all public ones, but the one that tries a webhook. */
export type ToldAction = Exclude<PublicAction, 'webhook.test'>

/** Returns minor units of a currency as people write them; undefined for what is no amount. */
export type ShowAmount = (minor: unknown, currency: unknown) => string | undefined

interface Words {
  /** What one and many of them are called, such as `1 user created` and `5 users created`. */
  one: string
  many: string
  say: (event: Told, showAmount: ShowAmount) => string
}

const account = ({ isOwn, whose }: Told) =>
  isOwn ? 'your account' : whose === null ? 'an unknown account' : `the account of ${whose}`
const Account = (event: Told) => account(event).replace(/^./, (first) => first.toUpperCase())
const by = (event: Told) => (event.by === null ? '' : ` by ${event.by}`)

/** The value of a field on one side of a change. */
export function field(changes: unknown, side: 'before' | 'after', name: string): unknown {
  const values = (changes as Record<string, unknown> | null)?.[side]
  return (values as Record<string, unknown> | null | undefined)?.[name]
}

function department({ changes, resourceId }: Told): string {
  const name = field(changes, 'after', 'name') ?? field(changes, 'before', 'name')
  const shown = typeof name === 'string' ? shownName(name) : undefined
  return shown ? `The department ${shown}` : `Department ${numberOf(resourceId)}`
}

function role({ changes }: Told): string {
  const given = ROLES.find((one) => one === field(changes, 'after', 'role'))
  return given ? `the role ${given}` : 'another role'
}

function payment({ changes, resourceId }: Told, showAmount: ShowAmount): string {
  const amount = showAmount(field(changes, 'after', 'amount'), field(changes, 'after', 'currency'))
  const kind = field(changes, 'after', 'test') === true ? 'test payment' : 'payment'
  return `${kind} ${numberOf(resourceId)}${amount ? ` of ${amount}` : ''}`
}

function Payment(event: Told, showAmount: ShowAmount): string {
  const text = payment(event, showAmount)
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** Of a patient there is the number, and nothing that the entry says. */
const Patient = ({ resourceId }: Told) => `Patient ${numberOf(resourceId)}`

function refund(event: Told, showAmount: ShowAmount): string {
  const { changes } = event
  const given = showAmount(
    field(changes, 'after', 'amount_refunded'),
    field(changes, 'after', 'currency'),
  )
  return `Given back of ${payment(event, showAmount)}: ${given ?? 'a part'} in all.`
}

const words = (one: string, many: string, say: Words['say']): Words => ({ one, many, say })

export const LINES: Record<ToldAction, Words> = {
  'tenant.created': words(
    'tenant created',
    'tenants created',
    (e) => `The clinic was created${by(e)}.`,
  ),
  'tenant.updated': words(
    'change of the clinic',
    'changes of the clinic',
    (e) => `The name or the settings of the clinic were changed${by(e)}.`,
  ),
  'tenant.activated': words(
    'activation of the clinic',
    'activations of the clinic',
    (e) => `The clinic was activated again${by(e)}.`,
  ),
  'tenant.deactivated': words(
    'deactivation of the clinic',
    'deactivations of the clinic',
    (e) => `The clinic was deactivated${by(e)}; everybody was signed out.`,
  ),
  'tenant.deleted': words(
    'deletion of the clinic',
    'deletions of the clinic',
    (e) => `The clinic was deleted${by(e)}.`,
  ),
  'tenant.restored': words(
    'restoration of the clinic',
    'restorations of the clinic',
    (e) => `The clinic was put back${by(e)}.`,
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
    (e) => `${Account(e)} was unblocked${by(e)} and may sign in again.`,
  ),
  'user.role_changed': words(
    'role changed',
    'roles changed',
    (e) => `${Account(e)} was given ${role(e)}${by(e)}.`,
  ),
  'user.password_changed': words(
    'password changed',
    'passwords changed',
    (e) => `The password of ${account(e)} was changed${by(e)}; its sessions were ended.`,
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
    (e) => `A link to confirm the address of ${account(e)} was sent.`,
  ),
  'auth.reset_requested': words(
    'password link sent',
    'password links sent',
    (e) => `A link to choose a new password for ${account(e)} was sent.`,
  ),
  'auth.totp_offered': words(
    'second factor offered',
    'second factors offered',
    (e) => `A secret for a second factor of ${account(e)} was shown.`,
  ),
  'auth.totp_enabled': words(
    'second factor set up',
    'second factors set up',
    (e) => `A second factor was set up for ${account(e)}.`,
  ),
  'auth.totp_disabled': words(
    'second factor taken away',
    'second factors taken away',
    (e) => `The second factor of ${account(e)} was taken away${by(e)}.`,
  ),
  'auth.login': words('sign-in', 'sign-ins', (e) => `A sign-in to ${account(e)}.`),
  'auth.login_failed': words(
    'refused sign-in',
    'refused sign-ins',
    (e) => `A sign-in to ${account(e)} was refused.`,
  ),
  'auth.token_refreshed': words(
    'session renewed',
    'sessions renewed',
    (e) => `A session of ${account(e)} was renewed.`,
  ),
  'auth.refresh_reused': words(
    'spent token shown again',
    'spent tokens shown again',
    (e) => `A spent token of ${account(e)} was shown again; its session was ended.`,
  ),
  'auth.logout': words('sign-out', 'sign-outs', (e) => `A sign-out from ${account(e)}.`),
  'auth.session_revoked': words(
    'session ended by its owner',
    'sessions ended by their owners',
    (e) => `A session of ${account(e)} was ended from another one.`,
  ),
  'auth.session_ended': words(
    'oldest session ended',
    'oldest sessions ended',
    (e) => `The oldest session of ${account(e)} was ended by a new sign-in.`,
  ),
  'payment.updated': words(
    'payment under way',
    'payments under way',
    (e, amount) => `${Payment(e, amount)} is under way.`,
  ),
  'payment.succeeded': words(
    'payment made',
    'payments made',
    (e, amount) => `${Payment(e, amount)} was made.`,
  ),
  'payment.failed': words(
    'payment failed',
    'payments failed',
    (e, amount) => `${Payment(e, amount)} failed; another try may follow.`,
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
    (e) => `${Patient(e)} was put back${by(e)}.`,
  ),
  'patient.break_glass': words(
    'record opened by break-glass',
    'records opened by break-glass',
    (e) => `The record of patient ${numberOf(e.resourceId)} was opened by break-glass${by(e)}.`,
  ),
  'backup.created': words('backup', 'backups', (e) => `A backup was made${by(e)}.`),
  'backup.failed': words(
    'failed backup',
    'failed backups',
    () => 'A backup failed; the list of backups says why.',
  ),
  'backup.verified': words(
    'check of a backup',
    'checks of backups',
    () => 'A backup was read again to its end, and is whole.',
  ),
  'backup.rewritten': words(
    'backup written anew',
    'backups written anew',
    () => 'A backup was written anew, without clinics that are gone for good.',
  ),
  'backup.restored': words(
    'restore of a backup',
    'restores of a backup',
    (e) => `The clinic was put back to a backup${by(e)}; everybody was signed out.`,
  ),
  'backup.downloaded': words(
    'download of a backup',
    'downloads of a backup',
    (e) => `A backup was downloaded${by(e)}.`,
  ),
  'self_healing.proposed': words(
    'fault found',
    'faults found',
    () => 'A fault of the service was found; its operator has been told.',
  ),
  'self_healing.applied': words(
    'fault repaired',
    'faults repaired',
    (e) => `A fault of the service was repaired${by(e)}.`,
  ),
  'self_healing.failed': words(
    'repair failed',
    'repairs failed',
    (e) => `The repair of a fault of the service failed${by(e)}.`,
  ),
  'self_healing.deleted': words(
    'fix taken out',
    'fixes taken out',
    (e) => `A fix was taken out of the catalogue${by(e)}.`,
  ),
  'self_healing.seeded': words(
    'seeding of fixes',
    'seedings of fixes',
    (e) => `The built-in fixes were put into the catalogue${by(e)}.`,
  ),
  'encryption.rotation_started': words(
    'rotation of keys begun',
    'rotations of keys begun',
    (e) => `A rotation of the encryption keys was begun${by(e)}.`,
  ),
  'encryption.rotation_completed': words(
    'rotation of keys completed',
    'rotations of keys completed',
    () => 'The rotation of the encryption keys is complete.',
  ),
  'encryption.rotation_failed': words(
    'rotation of keys that failed',
    'rotations of keys that failed',
    () => 'The rotation of the encryption keys failed: some records do not open.',
  ),
  'encryption.root_key_rotated': words(
    'rotation of the root key',
    'rotations of the root key',
    () => 'Another root key took the place of the one before.',
  ),
  'encryption.root_key_destroyed': words(
    'destroyed root key',
    'destroyed root keys',
    () => 'A root key was destroyed: no backup needs it any longer, or it was lost.',
  ),
  'backup.deleted': words(
    'deleted backup',
    'deleted backups',
    (e) => `A backup was deleted${by(e)}.`,
  ),
}

const wordsOf = (action: string): Words | undefined =>
  Object.hasOwn(LINES, action) ? LINES[action as ToldAction] : undefined

/** Returns what happened and when, on one line: `21 Nov 08:30 UTC: …`. */
export function lineOf(event: Told, showAmount: ShowAmount): string {
  const known = wordsOf(event.action)
  const { resourceType, resourceId } = event
  // An action that only a newer release knows: it has written the entry beside this one.
  const say =
    known?.say(event, showAmount) ??
    `${spoken(event.action)} (${spoken(resourceType)} ${numberOf(resourceId)}).`
  return `${timeOf(event.at)}: ${say}`
}

/** Returns how many there were of an action: `4,980 users created`. */
export function countOf(action: string, count: number): string {
  const known = wordsOf(action)
  const name = known ? (count === 1 ? known.one : known.many) : `of ${spoken(action)}`
  return `${showCount(count)} ${name}`
}
