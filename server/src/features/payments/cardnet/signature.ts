/** The signature of cardnet's notices: HMAC-SHA256 over the time and the raw bytes (decisions §6). */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { MINUTE, SECOND } from '../../../lib/clock.ts'

/** How far the time of a signature may lie from the clock, to either side. */
export const TOLERANCE_MS = 5 * MINUTE
/** UTF-8 bytes of the longest header that is looked at. */
const MAX_HEADER = 4 * 1024

interface Signature {
  /** As it was sent: this text is what was signed. */
  t: string
  v1: Buffer[]
}

/** Whether one of the secrets has signed these bytes within the tolerance of `at` (ms since the epoch). */
export function isSigned(
  header: string,
  body: Uint8Array,
  secrets: readonly string[],
  at: number,
): boolean {
  const signature = parse(header)
  if (!signature || Math.abs(at - Number(signature.t) * SECOND) > TOLERANCE_MS) return false
  let isFound = false
  // All are compared, whichever fits: the time taken tells nothing of them.
  for (const secret of secrets) {
    const expected = createHmac('sha256', secret).update(`${signature.t}.`).update(body).digest()
    for (const given of signature.v1) isFound = timingSafeEqual(given, expected) || isFound
  }
  return isFound
}

/** Exactly one time and any signatures, in any order; undefined for anything else. */
function parse(header: string): Signature | undefined {
  // A blank is what joins a header that was sent twice.
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
