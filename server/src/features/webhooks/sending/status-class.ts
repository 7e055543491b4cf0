/** The classes of responses by which deliveries are filtered. */
import type { Attempt } from './attempt.ts'

/** The classes as the API names them. `none`: the receiver did not respond. */
export const STATUS_CLASSES = ['2xx', '3xx', '4xx', '5xx', 'none'] as const
export type StatusClass = (typeof STATUS_CLASSES)[number]

/** The class as stored of deliveries whose last attempt got no response. */
const NO_RESPONSE = 0

/** Returns the class of a failed attempt as stored. Returns null after a success. Unknown statuses count as 5xx. */
export function failureClassOf({
  error,
  status_code,
}: Pick<Attempt, 'error' | 'status_code'>): number | null {
  if (error === null) return null
  if (status_code === null) return NO_RESPONSE
  return status_code < 300 || status_code > 599 ? 5 : Math.floor(status_code / 100)
}

/** Returns the stored class of a filter. Undefined for `2xx`, which stands for delivered. */
export function storedClassOf(name: StatusClass): number | undefined {
  if (name === '2xx') return undefined
  return name === 'none' ? NO_RESPONSE : Number(name[0])
}
