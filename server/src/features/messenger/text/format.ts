/** Formats counts, times, names of actions and ids for chat messages. */

/** Returns a count with separators: `4,980`. */
export const showCount = (count: number): string => count.toLocaleString('en-US')

/** Returns the minute in UTC: `21 Nov 08:30 UTC`. */
export function timeOf(iso: string): string {
  const time = new Date(iso)
  const month = time.toLocaleString('en-US', { month: 'short', timeZone: 'UTC' })
  return `${time.getUTCDate()} ${month} ${time.toISOString().slice(11, 16)} UTC`
}

/** Returns a word of the journal without the dots and underscores from which clients make links and markup. */
export const spoken = (name: string): string => name.replaceAll(/[^a-z]+/g, ' ').trim()

/** Returns the id of a record if it is a number or a UUID. An entry may hold other ids, which are not shown. */
export const numberOf = (id: string | null): string =>
  id && /^[\da-f-]{1,36}$/.test(id) ? id : 'unknown'
