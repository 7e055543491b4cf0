/**
 * Verifies all logs again and again: each log within 30 days, from its newest leaf down (ADR 0042). Each run verifies a
 * share of the logs that are due, in segments, so that requests do not notice. A run that dies continues where it was.
 */
import { SECOND } from '../../../lib/clock.ts'
import type { Time } from '../../../lib/time.ts'
import {
  isDatabaseFailure,
  openLockConnection,
  type PgConnection,
  type Scopes,
} from '../../../platform/db/index.ts'
import { canFail } from '../../../platform/observe/can-fail.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import { openFindings } from '../offline/index.ts'
import { type RecordDeps, recordSegment } from './record-findings.ts'
import * as store from './verifications.store.ts'
import { verifySegment } from './verify-segment.ts'

/** The number of leaves in a segment, a multiple of the width of a tile. */
export const SEGMENT_LEAVES = 4_096
/** The minimum number of leaves of a log that a run verifies. */
const MIN_SHARE = 100_000
/** The pause after a segment, as a multiple of its time. A requested pass pauses less, because somebody waits for it. */
const REST_TIMES = { background: 4, requested: 1 }
const MAX_REST_MS = 2 * SECOND
/** How long to wait before trying again to take the lock of another run. */
const AGAIN_MS = SECOND

export interface VerifyDeps extends RecordDeps {
  db: Scopes
  clock: Time
  log: Logger
  openConnection(): PgConnection
  /** Counts verified leaves. */
  onVerified(leaves: number): void
}

export interface RunOptions {
  /** Aborts the run between two segments. */
  signal: AbortSignal
  /** True if the run verifies only the logs that people requested. */
  isOnlyRequested?: boolean
}

/** Verifies a share of each log that is due. Waits while another node does. @throws the signal's reason if it aborts */
export async function verifyLogs(
  deps: VerifyDeps,
  { signal, isOnlyRequested = false }: RunOptions,
): Promise<void> {
  const { db, clock, log } = deps
  const holder = await openLockConnection(deps.openConnection())
  try {
    while (!(await holder.take('auditVerification', 0))) await clock.delay(AGAIN_MS, { signal })
    const ending = AbortSignal.any([signal, holder.lost])
    const failed: number[] = []
    let after = -1
    const next = async () => {
      const requested = await db.acrossTenants((tx) => store.findRequested(tx, failed), 'read')
      if (requested !== undefined || isOnlyRequested) return requested
      const due = await db.acrossTenants((tx) => store.findDue(tx, after), 'read')
      after = due ?? after
      return due
    }
    for (let id = await next(); id !== undefined; id = await next()) {
      ending.throwIfAborted()
      try {
        await verifyShare(deps, id, ending)
      } catch (error) {
        if (ending.aborted || isDatabaseFailure(error)) throw error
        // One log that cannot be verified must not keep the others from it.
        failed.push(id)
        log.error({ err: error, tenant_id: id }, 'audit log verification failed')
      }
    }
  } finally {
    await canFail(holder.close(), 'closing of a verification connection', log)
  }
}

/** Verifies the share of one log for this run, or all of a requested pass. */
async function verifyShare(deps: VerifyDeps, tenantId: number, signal: AbortSignal): Promise<void> {
  const { db, clock } = deps
  let left = Number.POSITIVE_INFINITY
  for (let isFirst = true; left > 0; isFirst = false) {
    signal.throwIfAborted()
    const begun = clock.monotonic()
    const pass = await db.acrossTenants((tx) => store.openPass(tx, tenantId))
    if (!pass) return
    if (isFirst && !pass.is_requested) left = shareOf(pass)
    const verified = await verifyNext(deps, pass)
    left -= verified
    deps.onVerified(verified)
    const times = pass.is_requested ? REST_TIMES.requested : REST_TIMES.background
    const rest = Math.min((clock.monotonic() - begun) * times, MAX_REST_MS)
    await clock.delay(rest, { signal })
  }
}

/** Returns the number of leaves to verify in this run, so that hourly runs end the pass in time. */
const shareOf = ({ next_index, hours_left }: store.Pass): number =>
  Math.max(MIN_SHARE, Math.ceil(next_index / Math.max(1, hours_left)))

/** Verifies the next segment of a pass, and records the result. Returns the number of leaves. */
async function verifyNext(deps: VerifyDeps, pass: store.Pass): Promise<number> {
  const end = pass.next_index
  const first = Math.max(0, Math.ceil(end / SEGMENT_LEAVES) - 1) * SEGMENT_LEAVES
  const segment = {
    first,
    end,
    knownSize: Math.max(pass.pass_size, pass.verified_size),
    coveredFrom: pass.covered_from,
  }
  // A repeated transaction begins with new findings.
  const { report, covered } = await deps.db.acrossTenants(async (tx) => {
    const findings = openFindings()
    const covered = await verifySegment(tx, pass, segment, findings)
    return { report: findings.report, covered }
  }, 'filtered list')
  await recordSegment(deps, pass, { first, coveredFrom: covered, report })
  return end - first
}
