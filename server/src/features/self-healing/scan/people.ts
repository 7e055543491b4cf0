/** Reports faults that need a manual repair. Each fault is reported once, even if several nodes or scans find it. */
import type { Scopes, TenantTx } from '../../../platform/db/index.ts'
import type { Severity } from '../../../platform/feature/fix.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import { markProposed } from '../detect/findings.store.ts'
import { appendProposed, subjectsOf } from '../fixes.journal.ts'
import type { FixRow } from '../fixes.store.ts'

const LEVELS = {
  low: 'info',
  medium: 'warn',
  high: 'error',
  critical: 'error',
} as const satisfies Record<Severity, keyof Logger>

/**
 * Records new findings in the journal and the log. Runs in a separate transaction after the findings are committed. If
 * writing to the journal fails, the findings are still stored, and the next scan tries again.
 * @throws the signal's reason if it aborts
 */
export async function recordNewFindings(
  { db, log }: { db: Scopes; log: Logger },
  row: FixRow,
  at: string,
  signal: AbortSignal,
): Promise<void> {
  const { key, severity } = row
  try {
    await db.acrossTenants((tx) => recordIn(tx, log, row, at))
  } catch (error) {
    signal.throwIfAborted()
    log.error({ err: error, fix: key, severity }, 'recording of a fault in the audit log failed')
  }
}

async function recordIn(tx: TenantTx, log: Logger, row: FixRow, at: string): Promise<void> {
  const { id, key, severity } = row
  const appeared = await markProposed(tx, id, at)
  if (appeared.length === 0) return
  await appendProposed(tx, row, { appeared, reason: null, isRepairable: false })
  const found = { fix: key, severity, occurrences: appeared.length, subjects: subjectsOf(appeared) }
  // Logs only after the commit, because after a rollback the next scan repeats the work. The journal entry alone is not
  // enough, because the fault itself may block webhooks and messages.
  tx.afterCommit(() => log[LEVELS[severity]](found, 'fault found that requires manual repair'))
}
