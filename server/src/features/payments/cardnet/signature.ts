/** Verifies signatures of cardnet's notices: HMAC-SHA256 over the time and the raw bytes of the body (decisions §6). */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { MINUTE, SECOND } from '../../../lib/clock.ts'

/** The largest accepted difference between the time of a signature and the clock, in either direction. */
export const TOLERANCE_MS = 5 * MINUTE
/** The maximum length of the signature header, in UTF-8 bytes. */
const MAX_HEADER = 4 * 1024

interface Signature {
  /** The time exactly as it was sent, because the signature covers this text. */
  t: string
  v1: Buffer[]
}

/** Returns whether one of the secrets has signed the body, within the tolerance of `at` (ms since the epoch). */
export function isSigned(
  header: string,
  body: Uint8Array,
  secrets: readonly string[],
  at: number,
): boolean {
  const signature = parse(header)
  if (!signature || Math.abs(at - Number(signature.t) * SECOND) > TOLERANCE_MS) return false
  let isFound = false
  // Compares every secret with every signature, so that the duration does not reveal which pair matched.
  for (const secret of secrets) {
    const expected = createHmac('sha256', secret).update(`${signature.t}.`).update(body).digest()
    for (const given of signature.v1) isFound = timingSafeEqual(given, expected) || isFound
  }
  return isFound
}

/** Parses a header that has exactly one time and at least one signature. Returns undefined for any other header. */
function parse(header: string): Signature | undefined {
  // Rejects spaces, because HTTP joins repeated headers with a comma and a space.
  if (Buffer.byteLength(header) > MAX_HEADER || !/^[!-~]+$/.test(header)) return undefined
  const times: string[] = []
  const v1: Buffer[] = []
  for (const item of header.split(',')) {
    const [, key, value = ''] = /^([^=]*)=(.*)$/.exec(item) ?? []
    if (key === 't') times.push(value)
    if (key === 'v1' && /^[0-9a-f]{64}$/.test(value)) v1.push(Buffer.from(value, 'hex'))
  }
  const [t = ''] = times
  if (times.length !== 1 || !/^[0-9]{1,15}$/.test(t)) return undefined
  return v1.length > 0 ? { t, v1 } : undefined
}
