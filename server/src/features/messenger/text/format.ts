/** Formats counts, times, action names and ids for chat messages. */

/** Returns a count with thousands separators, such as `4,980`. */
export const showCount = (count: number): string => count.toLocaleString('en-US')

/** Returns a time in UTC to the minute, such as `21 Nov 08:30 UTC`. */
export function timeOf(iso: string): string {
  const time = new Date(iso)
  const month = time.toLocaleString('en-US', { month: 'short', timeZone: 'UTC' })
  return `${time.getUTCDate()} ${month} ${time.toISOString().slice(11, 16)} UTC`
}

/** Returns the name of an action as words. Chat clients would turn its dots and underscores into links or markup. */
export const spoken = (name: string): string => name.replaceAll(/[^a-z]+/g, ' ').trim()

/** Returns the id of a record if it is a number or a UUID. Returns `unknown` for any other id. */
export const numberOf = (id: string | null): string =>
  id && /^[\da-f-]{1,36}$/.test(id) ? id : 'unknown'
