/**
 * Confirms a fix: detects the fault again, repairs the findings, and checks the result. A separate connection holds the
 * fix's lock during the repair. The row of the fix is updated only at the end, so that it can be confirmed again if the
 * process dies.
 */
import { isoAt } from '../../../lib/clock.ts'
import { orNotFound, Problem } from '../../../lib/problems.ts'
import type { Time } from '../../../lib/time.ts'
import {
  openLockConnection,
  type PgConnection,
  type Scopes,
  type TenantTx,
} from '../../../platform/db/index.ts'
import type { Finding, Fix } from '../../../platform/feature/fix.ts'
import type { Actor } from '../../../platform/journal/index.ts'
import { canFail } from '../../../platform/observe/can-fail.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import { failureSentence, reinspect } from '../detect/detect.ts'
import { without } from '../detect/finding-name.ts'
import * as store from '../detect/findings.store.ts'
import { appendApplied } from '../fixes.journal.ts'
import { type FixRow, findFix, lockFix, updateFix } from '../fixes.store.ts'
import { MOST, type RepairOutcome, repairAll, resultOf } from '../repair/repair.ts'

export interface ConfirmDeps {
  db: Scopes
  clock: Time
  log: Logger
  fixes: ReadonlyMap<string, Fix>
  openConnection(): PgConnection
}

/** Confirms a fix. @throws Problem 404 if unknown, 409 if not proposed or already being confirmed */
export async function confirmFinding(deps: ConfirmDeps, actor: Actor, id: number): Promise<void> {
  await findProposed(deps, id)
  const holder = await openLockConnection(deps.openConnection())
  try {
    if (!(await holder.take('fixes', id))) throw new Problem('fix_busy')
    // Reads the row again under the lock, because another confirmation may have ended in the meantime.
    const { row, fix } = await findProposed(deps, id)
    await apply(deps, actor, row, fix, holder.lost)
  } finally {
    await canFail(holder.close(), 'closing of a confirmation connection', deps.log)
  }
}

async function findProposed({ db, fixes }: ConfirmDeps, id: number) {
  const row = orNotFound(
    await db.acrossTenants((tx) => findFix(tx, id, [...fixes.keys()]), 'read'),
    'fix',
  )
  if (row.status !== 'proposed') throw new Problem('fix_not_proposed')
  return { row, fix: fixes.get(row.key) as Fix }
}

/** The progress and the result of a confirmation. */
interface Course {
  /** The findings to repair: those stored earlier, and those detected by this confirmation. */
  known: readonly Finding[]
  gone: number
  outcome: RepairOutcome
  left: readonly Finding[]
  /** True if `left` contains all remaining findings. False if only some findings were checked again. */
  isWhole: boolean
  /** Why the confirmation failed; null if it succeeded. */
  why: string | null
  durationMs: number
}

async function apply(
  deps: ConfirmDeps,
  actor: Actor,
  row: FixRow,
  fix: Fix,
  lost: AbortSignal,
): Promise<void> {
  const { db, clock, log } = deps
  const begun = clock.monotonic()
  const known = await db.acrossTenants((tx) => store.storedFindings(tx, row.id, MOST), 'read')
  const course: Course = {
    known,
    gone: 0,
    outcome: { repaired: [], alreadyGone: [], failed: [] },
    left: known,
    isWhole: false,
    why: null,
    durationMs: 0,
  }
  try {
    const found = await reinspect(db, fix, known)
    course.gone = without(known, found).length
    course.known = [...known, ...without(found, known)]
    course.outcome = await repairAll(deps, fix, found.slice(0, MOST), lost)
    course.left = await reinspect(db, fix, found)
    course.isWhole = !fix.recheck
    course.why = whyFailed(course)
  } catch (error) {
    lost.throwIfAborted()
    log.warn({ err: error, fix: fix.key }, 'confirmed repair failed')
    course.why = `the check failed: ${failureSentence(error)}`
  }
  course.durationMs = Math.round(clock.monotonic() - begun)
  await db.acrossTenants((tx) => record(tx, actor, row, course, isoAt(clock)))
}

/** A failed repair can be confirmed only after a scan has proposed it again. */
const AGAIN = 'Scan again, then confirm the repair again.'

function whyFailed({ outcome, left }: Course): string | null {
  const [first] = outcome.failed
  if (first) return `${first.finding.subject}: ${first.why}`
  if (left.length === 0) return null
  return `${left.length} findings remain after the repair. ${AGAIN}`
}

/** Records the result in the fix, its findings and the journal, in one transaction. */
async function record(
  tx: TenantTx,
  actor: Actor,
  row: FixRow,
  { known, gone, outcome, left, isWhole, why, durationMs }: Course,
  at: string,
): Promise<void> {
  // Records nothing if an administrator has deleted the fix during the repair.
  if (!(await lockFix(tx, row.id))) return
  const round = isWhole ? row.round + 1 : row.round
  await store.forgetFindings(tx, row.id, without(known, left))
  await store.enterFindings(tx, row.id, left, { at, round })
  if (isWhole) await store.endRound(tx, row.id, round)
  const occurrences = await store.countFindings(tx, row.id)
  const result = resultOf(outcome, { gone, remaining: occurrences, durationMs })
  // A confirmation repairs a limited number of findings, so another confirmation may be needed for the rest.
  const status = why === null && occurrences === 0 ? 'applied' : 'failed'
  await updateFix(tx, row.id, {
    status,
    reason: status === 'failed' ? (why ?? `${occurrences} findings remain. ${AGAIN}`) : null,
    occurrences,
    round,
    applied_at: at,
    applied_by: actor.user_id,
    result: JSON.stringify(result),
    ...(status === 'failed'
      ? { failures: row.failures + 1 }
      : { applications: row.applications + 1 }),
  })
  await appendApplied(tx, actor, row, {
    before: { status: row.status, findings: known },
    outcome,
    left,
  })
}
