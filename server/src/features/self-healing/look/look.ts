/** One look for a fault, within its bounds. */
import { SECOND } from '../../../lib/clock.ts'
import { within } from '../../../lib/within.ts'
import { isUnwritable, problemOf, type Scopes, type TenantTx } from '../../../platform/db/index.ts'
import type { Detected, Finding, Fix } from '../../../platform/fix.ts'
import { boundStatements } from './findings.store.ts'
import { nameOf } from './named.ts'

/** What a detector may take, whatever it waits for. */
export const LOOK_MS = 10 * SECOND

const CANCELED = '57014'

class TooSlow extends Error {}

/** Runs `work` in a read-only transaction across tenants. @throws what it fails with, and when it takes too long */
function bounded<T>(db: Scopes, ms: number, work: (tx: TenantTx) => Promise<T>): Promise<T> {
  return db.acrossTenants(async (tx) => {
    boundStatements(tx, ms)
    const done = Promise.try(() => work(tx))
    if (!(await within(db.clock, ms, done))) throw new TooSlow(tooSlow(ms))
    return done
  }, 'read')
}

const tooSlow = (ms: number) => `not done within ${ms / SECOND} s`

/** Looks for the fault from where the look before has ended. @throws whatever the detector fails with */
export async function look(
  db: Scopes,
  fix: Fix,
  from: string | undefined,
  ms: number = LOOK_MS,
): Promise<Detected> {
  const detected = await bounded(db, ms, (tx) => fix.detect(tx, from))
  if (detected.next !== undefined && !fix.recheck)
    throw new Error('it looks in slices, and has no way to look at a finding again')
  return { ...detected, findings: distinct(detected.findings) }
}

/** Those that are there still. @throws whatever the detector fails with */
export async function lookAgain(
  db: Scopes,
  fix: Fix,
  findings: readonly Finding[],
  ms: number = LOOK_MS,
): Promise<Finding[]> {
  const { recheck } = fix
  if (!recheck) return distinct((await bounded(db, ms, (tx) => fix.detect(tx, undefined))).findings)
  if (findings.length === 0) return []
  return distinct(await bounded(db, ms, (tx) => recheck(tx, findings)))
}

const distinct = (findings: readonly Finding[]): Finding[] => [
  ...new Map(findings.map((finding) => [nameOf(finding), finding])).values(),
]

/** Why something failed, in words for an operator: what a driver quotes stays in the log. */
export function sentenceOf(error: unknown, ms: number = LOOK_MS): string {
  const { code, message, severity } = error as {
    code?: string
    message?: string
    severity?: string
  }
  if (code === CANCELED) return tooSlow(ms)
  const isOfServer = code !== undefined && severity !== undefined
  const problem = isUnwritable(error) ? undefined : problemOf(error)
  if (problem) return problem.message
  if (isOfServer) return `PostgreSQL refuses it (${code})`
  return message ?? String(error)
}
