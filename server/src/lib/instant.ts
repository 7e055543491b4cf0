/** Points in time as the API takes them: a date, or a date and a time (format `date-or-time`). */

const DATE_LENGTH = '2026-11-21'.length

/** Whether it is a date alone, and so means a whole UTC day. */
export const isBareDate = (text: string): boolean => text.length === DATE_LENGTH

/** Milliseconds since the epoch, of a day its first; a time without a zone is UTC. */
export function instantOf(text: string): number {
  if (isBareDate(text)) return Date.parse(`${text}T00:00:00Z`)
  const spelled = text.replace(' ', 'T')
  return Date.parse(/(Z|[+-]\d{2}:?\d{2})$/i.test(spelled) ? spelled : `${spelled}Z`)
}
