/** Repairs findings, each in a transaction of its own: what one fails with undoes nothing of another. */
import { SECOND } from '../../../lib/clock.ts'
import { inScope, type Scopes } from '../../../platform/db/index.ts'
import type { Finding, Fix, Repairing } from '../../../platform/fix.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import { boundWaits } from '../look/findings.store.ts'
import { sentenceOf } from '../look/look.ts'
import type { Result } from '../self-healing.table.ts'

/** Others are not held up for longer. */
const LOCK_MS = 2 * SECOND

/** At once; what is left is for the next time. */
export const MOST = 500

export interface Failed {
  finding: Finding
  why: string
}

export interface Outcome {
  repaired: Finding[]
  alreadyGone: Finding[]
  failed: Failed[]
}

/** Whether anything was done: what had gone before the repair looked was nobody's doing. */
export const wasOfUse = ({ repaired, failed }: Outcome): boolean =>
  repaired.length + failed.length > 0

/** @param gone how many had gone before any repair */
export const resultOf = (
  { repaired, alreadyGone, failed }: Outcome,
  { gone, remaining, durationMs }: { gone: number; remaining: number; durationMs: number },
): Result => ({
  repaired: repaired.length,
  already_gone: gone + alreadyGone.length,
  failed: failed.length,
  remaining,
  duration_ms: durationMs,
})

/** @throws what the signal is aborted with, between two of them */
export async function repairAll(
  { db, log }: { db: Scopes; log: Logger },
  fix: Fix,
  findings: readonly Finding[],
  signal: AbortSignal,
): Promise<Outcome> {
  const outcome: Outcome = { repaired: [], alreadyGone: [], failed: [] }
  for (const finding of findings) {
    signal.throwIfAborted()
    const repairing: Repairing = (work) =>
      inScope(db, finding.tenant_id, (tx) => {
        boundWaits(tx, LOCK_MS)
        return work(tx)
      })
    try {
      const came = await fix.repair?.(finding, repairing)
      if (came === 'repaired') outcome.repaired.push(finding)
      else outcome.alreadyGone.push(finding)
    } catch (error) {
      log.warn({ err: error, fix: fix.key, tenant: finding.tenant_id }, 'a repair failed')
      outcome.failed.push({ finding, why: sentenceOf(error) })
    }
  }
  return outcome
}
