/**
 * A confirmation: looks again, repairs what is there, and looks once more. While it is at work a connection
 * holds the fix's lock; its row stays as it is until the end, so that a process which dies leaves a fix that
 * the next one confirms.
 */
import { isoAt } from '../../../lib/clock.ts'
import { orNotFound, Problem } from '../../../lib/problems.ts'
import type { Time } from '../../../lib/time.ts'
import {
  type Connection,
  openHolder,
  type Scopes,
  type TenantTx,
} from '../../../platform/db/index.ts'
import type { Finding, Fix } from '../../../platform/fix.ts'
import type { Actor } from '../../../platform/journal/index.ts'
import { canFail } from '../../../platform/observe/can-fail.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import { tellApplied } from '../fixes.journal.ts'
import { type FixRow, findFix, lockFix, updateFix } from '../fixes.store.ts'
import * as store from '../look/findings.store.ts'
import { lookAgain, sentenceOf } from '../look/look.ts'
import { without } from '../look/named.ts'
import { MOST, type Outcome, repairAll, resultOf } from '../repair/repair.ts'

export interface ConfirmDeps {
  db: Scopes
  clock: Time
  log: Logger
  fixes: ReadonlyMap<string, Fix>
  openConnection(): Connection
}

/** @throws Problem 404, and 409 for one that is not proposed or is being confirmed */
export async function confirm(deps: ConfirmDeps, actor: Actor, id: number): Promise<void> {
  await findProposed(deps, id)
  const holder = await openHolder(deps.openConnection())
  try {
    if (!(await holder.take('fixes', id))) throw new Problem('fix_busy')
    // Under its lock: another one may just have ended.
    const { row, fix } = await findProposed(deps, id)
    await apply(deps, actor, row, fix, holder.lost)
  } finally {
    await canFail(holder.close(), "closing a confirmation's connection", deps.log)
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

/** How a confirmation went. */
interface Course {
  /** What was known before, and what was found. */
  known: readonly Finding[]
  gone: number
  outcome: Outcome
  left: readonly Finding[]
  /** Whether `left` is all that there is. */
  isWhole: boolean
  /** Why it has failed; null where it has not. */
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
    const found = await lookAgain(db, fix, known)
    course.gone = without(known, found).length
    course.known = [...known, ...without(found, known)]
    course.outcome = await repairAll(deps, fix, found.slice(0, MOST), lost)
    course.left = await lookAgain(db, fix, found)
    course.isWhole = !fix.recheck
    course.why = whyFailed(course)
  } catch (error) {
    lost.throwIfAborted()
    log.warn({ err: error, fix: fix.key }, 'a confirmation failed')
    course.why = `it could not be looked at: ${sentenceOf(error)}`
  }
  course.durationMs = Math.round(clock.monotonic() - begun)
  await db.acrossTenants((tx) => record(tx, actor, row, course, isoAt(clock)))
}

function whyFailed({ outcome, left }: Course): string | null {
  const [first] = outcome.failed
  if (first) return `${first.finding.subject}: ${first.why}`
  if (left.length === 0) return null
  return `${left.length} are found after the repair; confirm again what the next scan proposes`
}

/** Says what came of it, all at once. */
async function record(
  tx: TenantTx,
  actor: Actor,
  row: FixRow,
  { known, gone, outcome, left, isWhole, why, durationMs }: Course,
  at: string,
): Promise<void> {
  // Somebody took it out of the catalogue meanwhile.
  if (!(await lockFix(tx, row.id))) return
  const round = isWhole ? row.round + 1 : row.round
  await store.forget(tx, row.id, without(known, left))
  await store.enterFindings(tx, row.id, left, { at, round })
  if (isWhole) await store.endRound(tx, row.id, round)
  const occurrences = await store.countFindings(tx, row.id)
  const result = resultOf(outcome, { gone, remaining: occurrences, durationMs })
  // Of more than one confirmation can do, what was not looked at waits for the next.
  const status = why === null && occurrences === 0 ? 'applied' : 'failed'
  await updateFix(tx, row.id, {
    status,
    reason:
      status === 'failed' ? (why ?? `${occurrences} are left for another confirmation`) : null,
    occurrences,
    round,
    applied_at: at,
    applied_by: actor.user_id,
    result: JSON.stringify(result),
    ...(status === 'failed'
      ? { failures: row.failures + 1 }
      : { applications: row.applications + 1 }),
  })
  await tellApplied(tx, actor, row, {
    before: { status: row.status, findings: known },
    outcome,
    left,
  })
}
