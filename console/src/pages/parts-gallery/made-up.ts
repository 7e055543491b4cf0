/** Made-up data for the gallery of parts. Nothing here comes from a clinic. */

/** A person in the table of the gallery. */
export interface MadeUpPerson {
  readonly id: string
  readonly name: string
  readonly email: string
  readonly role: string
  readonly department: string
  readonly status: string
  readonly lastSignIn: string | null
}

const FIRST = [
  'Amara',
  'Björn',
  'Chen',
  'Dalia',
  'Emeka',
  'Fatima',
  'Giulia',
  'Hiro',
  'Ines',
  'Jonas',
]
const LAST = ['Okafor', 'Moreau', 'Singh', 'Lindqvist', 'Petrov', 'Ferreira', 'Nakamura']
const ROLES = ['Doctor', 'Nurse', 'Receptionist', 'Auditor', 'Administrator']
const DEPARTMENTS = ['Cardiology', 'Radiology', 'Paediatrics', 'Emergency and intensive care']
const STATUSES = ['active', 'active', 'active', 'blocked', 'pending']
const HOUR_MS = 3_600_000

/** The number of people in the table of the gallery. */
export const PEOPLE_TOTAL = 312

/** Everyone in the table of the gallery. */
export const people: readonly MadeUpPerson[] = Array.from({ length: PEOPLE_TOTAL }, (_, at) => {
  const first = pick(FIRST, at)
  const last = pick(LAST, at * 3 + Math.floor(at / 10))
  return {
    id: String(at + 1),
    name: `${first} ${last}`,
    email: `${first}.${last}${at}@demo.local`.toLowerCase().replace('ö', 'o'),
    role: pick(ROLES, at),
    department: pick(DEPARTMENTS, at * 5 + 1),
    status: pick(STATUSES, at * 2 + 1),
    lastSignIn: at % 4 === 0 ? null : hoursAgo(at * 1.7),
  }
})

/** The last 24 hours, as the times of a chart. */
export const hours: readonly string[] = Array.from({ length: 24 }, (_, at) => hoursAgo(23 - at))

/** A day of sign-ins: few at night, most in the morning. */
export const signIns = hours.map((_, at) => Math.round(34 + 32 * Math.sin((at - 6) / 3.8)))

/** Refused sign-ins, with one peak. */
export const refused = hours.map((_, at) => (at === 15 ? 16 : (at * 7) % 4))

/** Deliveries of webhooks that arrived. */
export const delivered = hours.map((_, at) => Math.round(120 + 110 * Math.sin((at - 5) / 3.8)))

/** Deliveries of webhooks that failed. */
export const failed = hours.map((_, at) => (at > 12 && at < 17 ? 12 + ((at * 5) % 16) : 0))

/** A time in the past, as ISO 8601. */
export function hoursAgo(count: number): string {
  return new Date(Date.now() - count * HOUR_MS).toISOString()
}

function pick<Item>(items: readonly Item[], at: number): Item {
  const item = items[at % items.length]
  if (item === undefined) throw new Error('There is nothing to pick from')
  return item
}
