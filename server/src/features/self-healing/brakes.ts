/** Limits automatic repairs. A faulty check can then not change every record. */
import { HOUR } from '../../lib/clock.ts'
import type { Detected, Finding } from '../../platform/feature/fix.ts'
import { findingNameOf } from './detect/finding-name.ts'

/**
 * The number of repairs within `AGAIN_MS` after which a finding is no longer repaired automatically. So many repairs
 * show that the repair does not remove the cause.
 */
const TOO_OFTEN = 3
export const AGAIN_MS = 24 * HOUR

const TOO_MANY = 100
const TOO_LARGE_A_SHARE = 0.2
/** The minimum number of findings for which the share of affected records is limited. */
const FEW = 5

export interface Braked {
  /** The findings that may be repaired automatically. */
  free: readonly Finding[]
  /** Why the other findings need a confirmation. Null if there are none. */
  reason: string | null
}

/** Selects the findings that may be repaired. `earlier` counts recent automatic repairs by finding name. */
export function brake(
  { findings, looked_at }: Pick<Detected, 'findings' | 'looked_at'>,
  earlier: ReadonlyMap<string, number>,
): Braked {
  const { length } = findings
  const found = `Findings for ${length} of ${Math.max(length, looked_at)} records`
  if (length > TOO_MANY)
    return {
      free: [],
      reason: `${found}, which is more than ${TOO_MANY}. Check that the findings are correct before you confirm the repair.`,
    }
  if (length >= FEW && length > TOO_LARGE_A_SHARE * looked_at)
    return {
      free: [],
      reason: `${found}, which is more than a fifth. Check that the findings are correct before you confirm the repair.`,
    }
  const isFree = (finding: Finding) => (earlier.get(findingNameOf(finding)) ?? 0) < TOO_OFTEN - 1
  const free = findings.filter(isFree)
  const [blocked] = findings.filter((finding) => !isFree(finding))
  if (!blocked) return { free, reason: null }
  return {
    free,
    reason: `${blocked.subject} needs this repair for the ${TOO_OFTEN}rd time within 24 hours. Find the cause before you confirm the repair.`,
  }
}
