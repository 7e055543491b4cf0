import { formatCount } from '../../words/numbers.ts'
import type { Role } from '../../words/roles.ts'
import type { Registration } from './values.ts'

/** The singular and plural noun for the users of each role. */
const nouns: Readonly<Record<Role, readonly [one: string, many: string]>> = {
  superadmin: ['superadmin', 'superadmins'],
  admin: ['administrator', 'administrators'],
  doctor: ['doctor', 'doctors'],
  nurse: ['nurse', 'nurses'],
  receptionist: ['receptionist', 'receptionists'],
  auditor: ['auditor', 'auditors'],
}

const countRole = (role: Role, count: number) => formatCount(count, ...nouns[role])

const registrations: Readonly<Record<Registration, string>> = {
  approval: 'Anyone, after approval',
  open: 'Anyone, at once',
  closed: 'Nobody',
}

/** Texts of the page "Clinic settings". */
export const settingsTexts = {
  title: 'Clinic settings',
  save: 'Save settings',
  saving: 'Saving…',
  saved: 'Settings saved.',
  discard: 'Discard changes',
  name: 'Name',
  nameMissing: 'Enter a name.',
  registration: 'Who may register',
  registrations,
  registrationHint: 'Administrators approve, and can add people in any case.',
  factor: 'Second factor',
  factorLead: 'People of these roles must have a second factor.',
  factorNone: 'No role must have one',
  counting: 'Counting who has none…',
  notCounted: 'The people without a second factor could not be counted.',
  withoutFactor: (role: Role, count: number) =>
    count === 0
      ? 'Everyone of this role has one already.'
      : `${countRole(role, count)} ${count === 1 ? 'has' : 'have'} none yet.`,
  idle: 'Minutes until people who do nothing are signed out',
  idleShort: 'Signed out after',
  idleMissing: 'Enter a number of minutes.',
  idleHint: 'From 2 to 60. People who are signed in now get the new limit within 5 minutes.',
  minutes: (count: number) => `${formatCount(count, 'minute', 'minutes')} without activity`,
  retention: 'Days until entries of the audit log are archived and removed',
  retentionShort: 'Audit log',
  retentionMissing: 'Enter a number of days, or leave the field empty.',
  retentionHint:
    'From 90 to 36,500. Empty keeps every entry. Removed entries stay in archives of the operator.',
  shortenTitle: 'Shorten the audit log',
  shorten: (days: number) =>
    `From the next night on, entries older than ${formatCount(days, 'day', 'days')} are archived and removed from the audit log each night, which cannot be undone.`,
  kept: (days: number | null) =>
    days === null
      ? 'Every entry is kept'
      : `Entries are kept for ${formatCount(days, 'day', 'days')}`,
  listed: 'Show the clinic and its departments on the sign-in page',
  listedShort: 'On the sign-in page',
  isListed: 'Shown to everyone',
  isUnlisted: 'Hidden: people type its address',
  about: 'About this clinic',
  subdomain: 'Address',
  state: 'State',
  created: 'Created',
  others: 'Other settings',
  othersHint: 'Kept as they are. The service does not use them.',
  requireTitle: 'Require a second factor',
  affected: (counts: readonly (readonly [Role, number])[]) => {
    const total = counts.reduce((sum, [, count]) => sum + count, 0)
    if (total === 0) return 'Everyone concerned has a second factor already.'
    const each = counts.filter(([, count]) => count > 0)
    const list = each.map(([role, count]) => countRole(role, count)).join(', ')
    return total === 1
      ? `1 person has no second factor yet: ${list}. From their next click, they must set one up before they can do anything else.`
      : `${formatCount(total, 'person', 'people')} have no second factor yet: ${list}. From their next click, they must set one up before they can do anything else.`
  },
  wayBack: 'You can drop the requirement here at any time.',
  yourself: 'This includes your own role. If you have no second factor yet, you set one up next.',
  leaveTitle: 'Leave without saving',
  leaveBody: 'Your changes to the settings are not saved.',
  stay: 'Stay',
}
