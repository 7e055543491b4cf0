/** Repairs findings. Each repair runs in its own transaction, so a failure does not undo other repairs. */
import { SECOND } from '../../../lib/clock.ts'
import { inScope, limitLockWaits, type Scopes } from '../../../platform/db/index.ts'
import type { Finding, Fix, Repairing } from '../../../platform/feature/fix.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import { failureSentence } from '../detect/detect.ts'
import type { RepairResult } from '../self-healing.table.ts'

/** How long a repair may wait for a lock. A longer wait could delay requests. */
const LOCK_MS = 2 * SECOND

/** The maximum number of findings that one confirmation repairs. A further confirmation repairs the rest. */
export const MOST = 500

export interface FailedRepair {
  finding: Finding
  why: string
}

export interface RepairOutcome {
  repaired: Finding[]
  alreadyGone: Finding[]
  failed: FailedRepair[]
}

/** Returns true if any repair succeeded or failed. Findings that had disappeared before their repair do not count. */
export const wasOfUse = ({ repaired, failed }: RepairOutcome): boolean =>
  repaired.length + failed.length > 0

/** @param gone the number of findings that disappeared before the first repair */
export const resultOf = (
  { repaired, alreadyGone, failed }: RepairOutcome,
  { gone, remaining, durationMs }: { gone: number; remaining: number; durationMs: number },
): RepairResult => ({
  repaired: repaired.length,
  already_gone: gone + alreadyGone.length,
  failed: failed.length,
  remaining,
  duration_ms: durationMs,
})

/** Repairs the findings in order, and returns failures. @throws the signal's reason if it aborts between repairs */
export async function repairAll(
  { db, log }: { db: Scopes; log: Logger },
  fix: Fix,
  findings: readonly Finding[],
  signal: AbortSignal,
): Promise<RepairOutcome> {
  const outcome: RepairOutcome = { repaired: [], alreadyGone: [], failed: [] }
  for (const finding of findings) {
    signal.throwIfAborted()
    const repairing: Repairing = (work) =>
      inScope(db, finding.tenant_id, (tx) => {
        limitLockWaits(tx, LOCK_MS)
        return work(tx)
      })
    try {
      const came = await fix.repair?.(finding, repairing)
      if (came === 'repaired') outcome.repaired.push(finding)
      else outcome.alreadyGone.push(finding)
    } catch (error) {
      log.warn({ err: error, fix: fix.key, tenant: finding.tenant_id }, 'repair failed')
      outcome.failed.push({ finding, why: failureSentence(error) })
    }
  }
  return outcome
}
