/** Telling of what only people can mend: once, whichever node looks and however often. */
import type { Scopes, TenantTx } from '../../../platform/db/index.ts'
import type { Severity } from '../../../platform/fix.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import { subjectsOf, tellProposed } from '../fixes.journal.ts'
import type { FixRow } from '../fixes.store.ts'
import { markProposed } from '../look/findings.store.ts'

const LEVELS = {
  low: 'info',
  medium: 'warn',
  high: 'error',
  critical: 'error',
} as const satisfies Record<Severity, keyof Logger>

/**
 * Tells the journal and the log of the findings that they were not told of. Behind the transaction that
 * wrote the findings, and in one of its own: the journal may be what is broken, and the findings are to
 * stand all the same. The next scan tells what this one could not.
 * @throws where the signal ends it
 */
export async function tellPeople(
  { db, log }: { db: Scopes; log: Logger },
  row: FixRow,
  at: string,
  signal: AbortSignal,
): Promise<void> {
  const { key, severity } = row
  try {
    await db.acrossTenants((tx) => tellNew(tx, log, row, at))
  } catch (error) {
    signal.throwIfAborted()
    log.error({ err: error, fix: key, severity }, 'the journal could not be told of a fault')
  }
}

async function tellNew(tx: TenantTx, log: Logger, row: FixRow, at: string): Promise<void> {
  const { id, key, severity } = row
  const appeared = await markProposed(tx, id, at)
  if (appeared.length === 0) return
  await tellProposed(tx, row, { appeared, reason: null, isRepairable: false })
  const found = { fix: key, severity, occurrences: appeared.length, subjects: subjectsOf(appeared) }
  // What was rolled back is told by the next scan. To the log as well, as the fault may be what keeps
  // webhooks and messages from going out.
  tx.afterCommit(() => log[LEVELS[severity]](found, 'a fault was found that only people can mend'))
}
