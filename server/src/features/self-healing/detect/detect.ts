/** Runs the detector of a fix within a time limit. */
import { SECOND } from '../../../lib/clock.ts'
import { within } from '../../../lib/within.ts'
import {
  isUnwritable,
  limitStatements,
  problemOf,
  type Scopes,
  type TenantTx,
} from '../../../platform/db/index.ts'
import type { Detected, Finding, Fix } from '../../../platform/feature/fix.ts'
import { findingNameOf } from './finding-name.ts'

/** The time limit of a detector. It includes waits for locks and for the database. */
export const DETECT_MS = 10 * SECOND

const CANCELED = '57014'

class TooSlow extends Error {}

/** Runs `work` in a read-only transaction that sees all tenants. @throws TooSlow if `work` exceeds the time limit */
function bounded<T>(db: Scopes, ms: number, work: (tx: TenantTx) => Promise<T>): Promise<T> {
  return db.acrossTenants(async (tx) => {
    limitStatements(tx, ms)
    const done = Promise.try(() => work(tx))
    if (!(await within(db.clock, ms, done))) throw new TooSlow(tooSlow(ms))
    return done
  }, 'read')
}

const tooSlow = (ms: number) => `the check took longer than ${ms / SECOND} s`

/** Detects the fault of a fix, from the position at which the previous scan ended. @throws detector errors, TooSlow */
export async function detectFault(
  db: Scopes,
  fix: Fix,
  from: string | undefined,
  ms: number = DETECT_MS,
): Promise<Detected> {
  const detected = await bounded(db, ms, (tx) => fix.detect(tx, from))
  if (detected.next !== undefined && !fix.recheck)
    throw new Error('a detector that scans in slices needs a recheck function')
  return { ...detected, findings: distinct(detected.findings) }
}

/** Returns which of the findings still exist. Without a function for this, detects all findings again. */
export async function reinspect(
  db: Scopes,
  fix: Fix,
  findings: readonly Finding[],
  ms: number = DETECT_MS,
): Promise<Finding[]> {
  const { recheck } = fix
  if (!recheck) return distinct((await bounded(db, ms, (tx) => fix.detect(tx, undefined))).findings)
  if (findings.length === 0) return []
  return distinct(await bounded(db, ms, (tx) => recheck(tx, findings)))
}

const distinct = (findings: readonly Finding[]): Finding[] => [
  ...new Map(findings.map((finding) => [findingNameOf(finding), finding])).values(),
]

/** Returns a failure message for the operator. Values from the database appear only in the log. */
export function failureSentence(error: unknown, ms: number = DETECT_MS): string {
  const { code, message, severity } = error as {
    code?: string
    message?: string
    severity?: string
  }
  if (code === CANCELED) return tooSlow(ms)
  const isOfServer = code !== undefined && severity !== undefined
  const problem = isUnwritable(error) ? undefined : problemOf(error)
  if (problem) return problem.message
  if (isOfServer) return `PostgreSQL rejected a statement (${code}). See the log for the cause.`
  return message ?? String(error)
}
