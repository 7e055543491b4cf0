/** What a scan does with one fix: looks, repairs what may be repaired by itself, and says what is left. */
import { isoAt } from '../../../lib/clock.ts'
import type { Time } from '../../../lib/time.ts'
import { problemOf, type Scopes, type TenantTx } from '../../../platform/db/index.ts'
import type { Detected, Finding, Fix } from '../../../platform/fix.ts'
import { SYSTEM } from '../../../platform/journal/index.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import { AGAIN_MS, brake } from '../brakes.ts'
import { tellApplied, tellProposed } from '../fixes.journal.ts'
import { type FixChange, type FixRow, lockFix, updateFix } from '../fixes.store.ts'
import * as store from '../look/findings.store.ts'
import { LOOK_MS, look, lookAgain, sentenceOf } from '../look/look.ts'
import { among, without } from '../look/named.ts'
import { type Outcome, repairAll, resultOf, wasOfUse } from '../repair/repair.ts'
import { countRepairs, noteRepairs } from '../repair/repairs.store.ts'
import type { Result, Status } from '../self-healing.table.ts'
import { tellPeople } from './people.ts'

export interface ScanDeps {
  db: Scopes
  clock: Time
  log: Logger
  /** Whether what is automatic is repaired by itself. */
  repairs: boolean
  /** What a detector may take; LOOK_MS unless a test cannot wait. */
  lookMs?: number
}

/** What a scan has to tell of a fix. */
export interface Scanned {
  key: string
  title: string
  status: Status
  occurrences: number
  reason: string | null
  unknown: string | null
  /** What was repaired by itself just now. */
  result: Result | null
}

/** What was found, and what was done about it. */
interface Course {
  detected: Detected
  /** What was tried, with what came of it. */
  tried: readonly Finding[]
  outcome: Outcome | null
  /** Of what was detected, what is found still. */
  left: readonly Finding[]
  /** Why what is left was left; null where nothing keeps it but that a person has to say so. */
  reason: string | null
  durationMs: number
}

/** @throws where the database or the signal ends it; what a detector fails with is told, and who is in its way */
export async function scanFix(
  deps: ScanDeps,
  row: FixRow,
  fix: Fix,
  signal: AbortSignal,
): Promise<Scanned> {
  try {
    return await lookAndMend(deps, row, fix, signal)
  } catch (error) {
    signal.throwIfAborted()
    // Somebody holds what has to be written: the other fixes have their turn, and the next scan comes back.
    if (problemOf(error)?.code !== 'busy') throw error
    deps.log.warn({ err: error, fix: fix.key }, 'what was found of a fault could not be written')
    return told(row, { unknown: sentenceOf(error, deps.lookMs) })
  }
}

async function lookAndMend(
  deps: ScanDeps,
  row: FixRow,
  fix: Fix,
  signal: AbortSignal,
): Promise<Scanned> {
  const { db, clock, log, lookMs = LOOK_MS } = deps
  let detected: Detected
  try {
    detected = await look(db, fix, row.position ?? undefined, lookMs)
  } catch (error) {
    signal.throwIfAborted()
    log.warn({ err: error, fix: fix.key }, 'a look for a fault failed')
    const unknown = sentenceOf(error, lookMs)
    if (unknown !== row.unknown) await db.acrossTenants((tx) => updateFix(tx, row.id, { unknown }))
    return told(row, { unknown })
  }
  const course = await mend(deps, row, fix, detected, signal)
  if (course.left.length + course.tried.length === 0 && isUnchanged(row, detected))
    return told(row, {})
  const at = isoAt(clock)
  const scanned = await db.acrossTenants((tx) => record(tx, row, fix, course, at))
  if (!fix.repair && scanned.occurrences > 0) await tellPeople(deps, row, at, signal)
  return scanned
}

/** Whether all was well, and is. */
const isUnchanged = (row: FixRow, { next }: Detected) =>
  row.occurrences === 0 &&
  row.unknown === null &&
  row.status !== 'proposed' &&
  row.status !== 'failed' &&
  row.position === null &&
  next === undefined

const told = ({ key, title, ...row }: FixRow, change: FixChange): Scanned => ({
  key,
  title,
  status: change.status ?? row.status,
  occurrences: change.occurrences ?? row.occurrences,
  reason: change.reason === undefined ? row.reason : change.reason,
  unknown: change.unknown === undefined ? row.unknown : change.unknown,
  result: change.result === undefined ? null : JSON.parse(change.result),
})

/** Repairs of what was found what may be repaired by itself, and looks again. */
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
  // Before, so that one which ends the process counts as well.
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

/** A release that has thought better of it is heeded, and so is who has changed the row. */
const isAutomatic = (row: FixRow, fix: Fix) =>
  row.automatic && fix.automatic && fix.repair !== undefined

/** What is found still; all of it where nobody can tell. */
async function againOrAll(
  { db, log, lookMs }: ScanDeps,
  fix: Fix,
  findings: readonly Finding[],
): Promise<{ left: readonly Finding[]; why?: string }> {
  try {
    return { left: await lookAgain(db, fix, findings, lookMs) }
  } catch (error) {
    log.warn({ err: error, fix: fix.key }, 'a look after a repair failed')
    return {
      left: findings,
      why: `looked at again after the repair: ${sentenceOf(error, lookMs)}`,
    }
  }
}

const STILL_THERE = 'it is found again after the repair'

/** Writes what there is of a fix now, and tells the journal. */
async function record(
  tx: TenantTx,
  row: FixRow,
  fix: Fix,
  course: Course,
  at: string,
): Promise<Scanned> {
  const { detected, tried, outcome, left } = course
  // Somebody took it out of the catalogue meanwhile.
  if (!(await lockFix(tx, row.id))) return told(row, { status: 'idle', occurrences: 0 })
  await store.forget(tx, row.id, without(detected.findings, left))
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
    await tellApplied(tx, SYSTEM, row, {
      before: { status: row.status, findings: tried },
      outcome,
      left: among(tried, left),
    })
  if (status === 'proposed')
    await tellProposed(tx, row, {
      appeared: await store.markProposed(tx, row.id, at),
      reason: change.reason ?? null,
      isRepairable: true,
    })
  return told(row, change)
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
): Status {
  if (occurrences > 0) {
    if (!fix.repair) return 'idle'
    return stuck > 0 && stuck === left.length ? 'failed' : 'proposed'
  }
  if (outcome && wasOfUse(outcome)) return 'applied'
  return row.status === 'applied' ? 'applied' : 'idle'
}

function appliedBy(
  row: FixRow,
  outcome: Outcome,
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
