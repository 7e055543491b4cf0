/** Submits the head of the platform's log to witnesses. Its anchors vouch for all other logs (ADR 0042). */

import type { ConfiguredWitness } from '../../../config/audit-variables.ts'
import type { Needs } from '../../../core.ts'
import { type Clock, DAY, HOUR, MINUTE, SECOND } from '../../../lib/clock.ts'
import type { Scopes } from '../../../platform/db/index.ts'
import type { ComponentHealth, Feature } from '../../../platform/feature/feature.ts'
import { jobKind } from '../../../platform/jobs/index.ts'
import { openPostTarget, type PostTarget } from '../../../platform/net/index.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import type { AuditHeadsService, PlatformHead } from './heads.service.ts'
import { requestCosignature, type WitnessAnswer } from './witness-request.ts'
import * as store from './witnesses.store.ts'

const WITNESS = jobKind<Record<string, never>>('audit.witness', { retries: 0 })

/** Every 10 minutes, one minute after the anchors, which are sealed by then. */
const CRON = '1-59/10 * * * *'
const HEALTH_MS = MINUTE
/** How far the clock of a witness may be ahead of ours. */
const MAX_AHEAD_MS = HOUR

type Core = Needs<'db' | 'log' | 'clock' | 'jobs' | 'hold', 'AUDIT_WITNESSES'>

/** A witness and the connections to it. */
export interface WitnessTarget {
  witness: ConfiguredWitness
  target: PostTarget
}

/** Schedules the submissions, on one node at a time, and reports the health of the witnesses. */
export function openWitnesses(
  core: Core,
  heads: Pick<AuditHeadsService, 'platform'>,
): Pick<Feature, 'upkeep' | 'checks' | 'close'> {
  const { db, log, clock, jobs, hold, config } = core
  const { AUDIT_WITNESSES: witnesses } = config
  if (witnesses.length === 0) {
    jobs.schedule(WITNESS, undefined)
    return {}
  }
  const targets = witnesses.map((witness) => ({
    witness,
    target: openPostTarget(addCheckpointUrl(witness.url), {}),
  }))
  jobs.schedule(WITNESS, CRON)
  jobs.work(WITNESS, (_, { signal }) => submitHead({ db, log, clock, heads, targets, signal }), {
    when: hold.whenReleased,
  })
  let rows: store.WitnessRow[] = []
  return {
    upkeep: [
      {
        what: 'health check of the witnesses of the audit log',
        everyMs: HEALTH_MS,
        isNeededToServe: false,
        run: async () => {
          rows = await db.acrossTenants(store.listPlatformWitnesses, 'read')
        },
      },
    ],
    checks: { audit_witnesses: () => healthOf(rows, witnesses, clock) },
    close: () => Promise.all(targets.map(({ target }) => target.close())),
  }
}

/** Returns the URL of the operation below the prefix of a witness. */
const addCheckpointUrl = ({ href }: URL): URL =>
  new URL('add-checkpoint', `${href.replace(/\/+$/, '')}/`)

/** Reports a witness that knows another history, and one that has failed for more than a day. */
function healthOf(
  rows: readonly store.WitnessRow[],
  witnesses: readonly ConfiguredWitness[],
  clock: Clock,
): ComponentHealth {
  const failing = witnesses.flatMap(({ key, verifier: { name } }) =>
    rows.filter((row) => row.key === key && row.failing_since).map((row) => ({ ...row, name })),
  )
  const other = failing.find(({ contradicts }) => contradicts)
  if (other)
    return {
      state: 'degraded',
      reason: `The witness ${other.name} knows another history of the audit log: ${other.failure}.`,
      since: other.failing_since,
      runbook: 'audit-log-finding.md',
    }
  const silent = failing.find(
    ({ failing_since: since }) => clock.now() - Date.parse(since ?? '') > DAY,
  )
  if (!silent) return { state: 'ok' }
  return {
    state: 'degraded',
    reason: `The witness ${silent.name} has not confirmed the audit log for more than a day: ${silent.failure}.`,
    since: silent.failing_since,
  }
}

export interface SubmitDeps {
  db: Scopes
  log: Logger
  clock: Clock
  heads: Pick<AuditHeadsService, 'platform'>
  targets: readonly WitnessTarget[]
  signal: AbortSignal
}

/** Submits the newest head to all witnesses that have not cosigned it, at once. No witness waits for another one. */
export async function submitHead(deps: SubmitDeps): Promise<void> {
  const { db, heads, targets } = deps
  const head = await heads.platform()
  if (!head) return
  const rows = await db.acrossTenants((tx) => store.listWitnessRows(tx, head.origin), 'read')
  const ended = await Promise.allSettled(
    targets.map((one) => {
      const row = rows.find(({ key }) => key === one.witness.key)
      return row?.size === head.size ? undefined : submitTo(one, head, row, deps)
    }),
  )
  const failure = ended.find((one) => one.status === 'rejected')
  if (failure) throw failure.reason
}

/** Submits the head to one witness and records the result. @throws Error if the database fails */
async function submitTo(
  { witness, target }: WitnessTarget,
  head: PlatformHead,
  row: store.WitnessRow | undefined,
  { db, log, clock, heads, signal }: SubmitDeps,
): Promise<void> {
  const { origin, size } = head
  const known = row?.size ?? 0
  const asked = await requestCosignature({ witness, target, head, known, signal })
  if (signal.aborted) return
  const answer = await judge(asked, heads, clock)
  if (answer === 'outdated') return
  const place = { origin, key: witness.key }
  if (answer.kind === 'cosigned') {
    const { line, time } = answer.cosignature
    const cosigned_at = new Date(time * SECOND).toISOString()
    const checkpoint = head.checkpoint + line
    await db.acrossTenants((tx) =>
      store.recordCosigned(tx, place, { size, checkpoint, cosigned_at }),
    )
    return
  }
  const fields = { witness: witness.verifier.name, size, reason: answer.failure }
  if (answer.contradicts) log.error(fields, 'a witness contradicts the audit log')
  else if (answer.failure !== row?.failure) log.warn(fields, 'a witness failed')
  await db.acrossTenants((tx) => store.recordFailure(tx, place, answer))
}

type Judged = Exclude<WitnessAnswer, { kind: 'ahead' }> | 'outdated'

/** Decides what an answer means. A witness that is ahead may have the head of a later submission by another node. */
async function judge(
  answer: WitnessAnswer,
  heads: SubmitDeps['heads'],
  clock: Clock,
): Promise<Judged> {
  if (answer.kind === 'ahead') {
    const now = await heads.platform()
    if (now && now.size >= answer.size) return 'outdated'
    const failure = `the witness has cosigned ${answer.size} entries, but the log has ${now?.size ?? 0}: the database is an older copy`
    return { kind: 'failed', failure, contradicts: true }
  }
  if (answer.kind === 'cosigned' && answer.cosignature.time * SECOND > clock.now() + MAX_AHEAD_MS)
    return {
      kind: 'failed',
      failure: 'the time of the cosignature is in the future',
      contradicts: false,
    }
  return answer
}
