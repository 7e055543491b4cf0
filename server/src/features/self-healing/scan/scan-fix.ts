/** Scans for the fault of one fix, repairs it if an automatic repair is allowed, and records the remaining findings. */
import { isoAt } from '../../../lib/clock.ts'
import type { Time } from '../../../lib/time.ts'
import { problemOf, type Scopes, type TenantTx } from '../../../platform/db/index.ts'
import type { Detected, Finding, Fix } from '../../../platform/feature/fix.ts'
import { SYSTEM } from '../../../platform/journal/index.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import { AGAIN_MS, brake } from '../brakes.ts'
import { DETECT_MS, detectFault, failureSentence, reinspect } from '../detect/detect.ts'
import { among, without } from '../detect/finding-name.ts'
import * as store from '../detect/findings.store.ts'
import { appendApplied, appendProposed } from '../fixes.journal.ts'
import { type FixChange, type FixRow, lockFix, updateFix } from '../fixes.store.ts'
import { type RepairOutcome, repairAll, resultOf, wasOfUse } from '../repair/repair.ts'
import { countRepairs, noteRepairs } from '../repair/repairs.store.ts'
import type { FixStatus, RepairResult } from '../self-healing.table.ts'
import { recordNewFindings } from './people.ts'

export interface ScanDeps {
  db: Scopes
  clock: Time
  log: Logger
  /** True if automatic repairs need no confirmation. */
  repairs: boolean
  /** The time limit of a detector in milliseconds. Defaults to DETECT_MS; tests pass a shorter one. */
  detectMs?: number
}

export interface Scanned {
  key: string
  title: string
  status: FixStatus
  occurrences: number
  reason: string | null
  unknown: string | null
  /** The result of an automatic repair during this scan; null if there was none. */
  result: RepairResult | null
}

/** The findings of a scan, and what happened to them. */
interface Course {
  detected: Detected
  /** The findings for which a repair was attempted. */
  tried: readonly Finding[]
  outcome: RepairOutcome | null
  /** The detected findings that still exist after the repair. */
  left: readonly Finding[]
  /** Why the remaining findings were not repaired. Null if they only need a confirmation. */
  reason: string | null
  durationMs: number
}

/** Scans one fix. A failing detector or a busy lock is returned as `unknown`. @throws on database errors or an abort */
export async function scanFix(
  deps: ScanDeps,
  row: FixRow,
  fix: Fix,
  signal: AbortSignal,
): Promise<Scanned> {
  try {
    return await detectAndRepair(deps, row, fix, signal)
  } catch (error) {
    signal.throwIfAborted()
    // Another transaction has locked the rows. The next scan tries this fix again, and this scan continues.
    if (problemOf(error)?.code !== 'busy') throw error
    deps.log.warn({ err: error, fix: fix.key }, 'recording of scan findings failed')
    return scannedFix(row, { unknown: failureSentence(error, deps.detectMs) })
  }
}

async function detectAndRepair(
  deps: ScanDeps,
  row: FixRow,
  fix: Fix,
  signal: AbortSignal,
): Promise<Scanned> {
  const { db, clock, log, detectMs = DETECT_MS } = deps
  let detected: Detected
  try {
    detected = await detectFault(db, fix, row.position ?? undefined, detectMs)
  } catch (error) {
    signal.throwIfAborted()
    log.warn({ err: error, fix: fix.key }, 'fault detection failed')
    const unknown = failureSentence(error, detectMs)
    if (unknown !== row.unknown) await db.acrossTenants((tx) => updateFix(tx, row.id, { unknown }))
    return scannedFix(row, { unknown })
  }
  const course = await mend(deps, row, fix, detected, signal)
  if (course.left.length + course.tried.length === 0 && isUnchanged(row, detected))
    return scannedFix(row, {})
  const at = isoAt(clock)
  const scanned = await db.acrossTenants((tx) => record(tx, row, fix, course, at))
  if (!fix.repair && scanned.occurrences > 0) await recordNewFindings(deps, row, at, signal)
  return scanned
}

/** Returns true if the row already records that the fault does not exist. */
const isUnchanged = (row: FixRow, { next }: Detected) =>
  row.occurrences === 0 &&
  row.unknown === null &&
  row.status !== 'proposed' &&
  row.status !== 'failed' &&
  row.position === null &&
  next === undefined

const scannedFix = ({ key, title, ...row }: FixRow, change: FixChange): Scanned => ({
  key,
  title,
  status: change.status ?? row.status,
  occurrences: change.occurrences ?? row.occurrences,
  reason: change.reason === undefined ? row.reason : change.reason,
  unknown: change.unknown === undefined ? row.unknown : change.unknown,
  result: change.result === undefined ? null : JSON.parse(change.result),
})

/** Repairs the findings that may be repaired automatically, then detects again which of them remain. */
async function mend(
  deps: ScanDeps,
  row: FixRow,
  fix: Fix,
  detected: Detected,
  signal: AbortSignal,
): Promise<Course> {
  const { db, clock } = deps
  const { findings } = detected
  const untouched = { detected, tried: [], outcome: null, left: findings, durationMs: 0 }
  if (findings.length === 0 || !deps.repairs || !isAutomatic(row, fix))
    return { ...untouched, reason: null }
  const since = isoAt(clock, -AGAIN_MS)
  const earlier = await db.acrossTenants((tx) => countRepairs(tx, row.id, since), 'read')
  const { free: tried, reason } = brake(detected, earlier)
  if (tried.length === 0) return { ...untouched, reason }
  // Counts repairs before they run, so that a repair that crashes the process counts too.
  await db.acrossTenants((tx) => noteRepairs(tx, row.id, tried, { at: isoAt(clock), since }))
  const begun = clock.monotonic()
  const outcome = await repairAll(deps, fix, tried, signal)
  const again = await againOrAll(deps, fix, findings)
  return {
    detected,
    tried,
    outcome,
    left: again.left,
    reason: reason ?? again.why ?? outcome.failed[0]?.why ?? null,
    durationMs: Math.round(clock.monotonic() - begun),
  }
}

/** Returns whether code and row allow automatic repair. A release can forbid it in code, an operator in the row. */
const isAutomatic = (row: FixRow, fix: Fix) =>
  row.automatic && fix.automatic && fix.repair !== undefined

/** Returns the findings that still exist. If this check fails, returns all findings and the reason. */
async function againOrAll(
  { db, log, detectMs }: ScanDeps,
  fix: Fix,
  findings: readonly Finding[],
): Promise<{ left: readonly Finding[]; why?: string }> {
  try {
    return { left: await reinspect(db, fix, findings, detectMs) }
  } catch (error) {
    log.warn({ err: error, fix: fix.key }, 'recheck after a repair failed')
    return {
      left: findings,
      why: `recheck after the repair failed: ${failureSentence(error, detectMs)}`,
    }
  }
}

const STILL_THERE = 'the fault was found again after the repair'

/** Records the current state of a fix in its row and its findings, and writes journal entries. */
async function record(
  tx: TenantTx,
  row: FixRow,
  fix: Fix,
  course: Course,
  at: string,
): Promise<Scanned> {
  const { detected, tried, outcome, left } = course
  // Records nothing if an administrator has deleted the fix during the scan.
  if (!(await lockFix(tx, row.id))) return scannedFix(row, { status: 'idle', occurrences: 0 })
  await store.forgetFindings(tx, row.id, without(detected.findings, left))
  await store.enterFindings(tx, row.id, left, { at, round: row.round })
  const isOver = detected.next === undefined
  if (isOver) await store.endRound(tx, row.id, row.round)
  const occurrences = await store.countFindings(tx, row.id)
  const stuck = among(tried, left).length
  const status = statusAfter(row, fix, { occurrences, stuck, ...course })
  const isOpen = status === 'proposed' || status === 'failed'
  const reason = course.reason ?? (stuck > 0 ? STILL_THERE : left.length > 0 ? null : row.reason)
  const change: FixChange = {
    status,
    reason: isOpen ? reason : null,
    unknown: null,
    occurrences,
    looked_at: detected.looked_at,
    position: detected.next ?? null,
    ...(isOver ? { round: row.round + 1 } : {}),
    ...(detected.findings.length > 0 ? { last_detected_at: at } : {}),
    ...(outcome ? appliedBy(row, outcome, course, at, stuck) : {}),
  }
  await updateFix(tx, row.id, change)
  if (outcome && wasOfUse(outcome))
    await appendApplied(tx, SYSTEM, row, {
      before: { status: row.status, findings: tried },
      outcome,
      left: among(tried, left),
    })
  if (status === 'proposed')
    await appendProposed(tx, row, {
      appeared: await store.markProposed(tx, row.id, at),
      reason: change.reason ?? null,
      isRepairable: true,
    })
  return scannedFix(row, change)
}

function statusAfter(
  row: FixRow,
  fix: Fix,
  {
    occurrences,
    stuck,
    outcome,
    left,
  }: Pick<Course, 'outcome' | 'left'> & { occurrences: number; stuck: number },
): FixStatus {
  if (occurrences > 0) {
    if (!fix.repair) return 'idle'
    return stuck > 0 && stuck === left.length ? 'failed' : 'proposed'
  }
  if (outcome && wasOfUse(outcome)) return 'applied'
  return row.status === 'applied' ? 'applied' : 'idle'
}

function appliedBy(
  row: FixRow,
  outcome: RepairOutcome,
  { left, durationMs }: Course,
  at: string,
  stuck: number,
): FixChange {
  if (!wasOfUse(outcome)) return {}
  const result = resultOf(outcome, { gone: 0, remaining: left.length, durationMs })
  return {
    applied_at: at,
    applied_by: null,
    result: JSON.stringify(result),
    ...(stuck + outcome.failed.length > 0
      ? { failures: row.failures + 1 }
      : { applications: row.applications + 1 }),
  }
}
