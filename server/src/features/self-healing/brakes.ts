/** What is not mended by itself although its fix is automatic: a broken detector must not repair everything. */
import { HOUR } from '../../lib/clock.ts'
import type { Detected, Finding } from '../../platform/fix.ts'
import { nameOf } from './look/named.ts'

/** What needs mending this often within `AGAIN_MS` has a cause that no repair takes away. */
const TOO_OFTEN = 3
export const AGAIN_MS = 24 * HOUR

const TOO_MANY = 100
const TOO_LARGE_A_SHARE = 0.2
/** Of few records a share says nothing. */
const FEW = 5

export interface Braked {
  /** May be mended by itself. */
  free: readonly Finding[]
  /** Why the others may not; null where there are none. */
  reason: string | null
}

/** @param earlier how often each was mended by itself of late, by its name */
export function brake(
  { findings, looked_at }: Pick<Detected, 'findings' | 'looked_at'>,
  earlier: ReadonlyMap<string, number>,
): Braked {
  const { length } = findings
  const found = `${length} of ${Math.max(length, looked_at)} are found at fault`
  if (length > TOO_MANY)
    return { free: [], reason: `${found}, more than ${TOO_MANY}: is the detector right?` }
  if (length >= FEW && length > TOO_LARGE_A_SHARE * looked_at)
    return { free: [], reason: `${found}, more than a fifth: is the detector right?` }
  const isFree = (finding: Finding) => (earlier.get(nameOf(finding)) ?? 0) < TOO_OFTEN - 1
  const free = findings.filter(isFree)
  const [held] = findings.filter((finding) => !isFree(finding))
  if (!held) return { free, reason: null }
  return {
    free,
    reason: `${held.subject} needs it for the ${TOO_OFTEN}rd time within 24 hours: look for the cause`,
  }
}
