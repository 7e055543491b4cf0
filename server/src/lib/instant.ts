/** Points in time as the API accepts them: a date, or a date and a time (format `date-or-time`). */

const DATE_LENGTH = '2026-11-21'.length

/** Returns true for a date without a time, which means a whole UTC day. */
export const isBareDate = (text: string): boolean => text.length === DATE_LENGTH

/** Returns milliseconds since the Unix epoch. A date means the start of its UTC day. No zone means UTC. */
export function instantOf(text: string): number {
  if (isBareDate(text)) return Date.parse(`${text}T00:00:00Z`)
  const spelled = text.replace(' ', 'T')
  return Date.parse(/(Z|[+-]\d{2}:?\d{2})$/i.test(spelled) ? spelled : `${spelled}Z`)
}
