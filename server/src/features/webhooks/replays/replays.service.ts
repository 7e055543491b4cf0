/** Queues the events of a period for a webhook again. A job works in batches, one replay per webhook at a time. */

import { type Clock, DAY, isoAt } from '../../../lib/clock.ts'
import { inBatches } from '../../../lib/in-batches.ts'
import { instantOf, isBareDate } from '../../../lib/instant.ts'
import { orNotFound, Problem, type Refuse } from '../../../lib/problems.ts'
import type { Admin } from '../../../platform/access/index.ts'
import type { Scopes, TenantTx } from '../../../platform/db/index.ts'
import type { JobSource } from '../../../platform/feature/job-source.ts'
import { type Jobs, jobKind } from '../../../platform/jobs/index.ts'
import {
  type Actor,
  actorOf,
  append,
  journalEntry,
  ordererOf,
  PUBLIC_ACTIONS,
} from '../../../platform/journal/index.ts'
import { scheduleQueue } from '../engine/queues.store.ts'
import { notifyDue } from '../engine/topics.ts'
import { isWanted } from '../events/subscription.ts'
import { findWebhook, keepWebhook, lockWebhook } from '../registrations/registrations.store.ts'
import { ensureWebhookDays } from '../upkeep/days.ts'
import type { Replay, ReplayOrder, ReplayPreview } from '../webhooks.schema.ts'
import * as previews from './previews.store.ts'
import * as store from './replays.store.ts'

export interface ReplaysDeps {
  db: Scopes
  clock: Clock
  jobs: Jobs
  /** The number of days that a replay may reach back (`WEBHOOK_RETENTION_DAYS`). */
  keepDays: number
}

/** The period of a replay, with both ends inclusive, in ISO 8601 with milliseconds. */
export interface ReplaySpan {
  since: string
  until: string
  only_failed: boolean
}

export interface Replays {
  /** Returns the requested period. Rejects a start too early or in the future, or an end before the start. */
  spanOf(order: Partial<ReplayOrder>, refuse: Refuse, part?: 'body' | 'query'): ReplaySpan
  /** Counts what a replay would queue, and changes nothing. */
  preview(caller: Admin, webhookId: number, span: ReplaySpan): Promise<ReplayPreview>
  /** Queues the events of a period again. @throws Problem 409 while another replay of the webhook is running */
  replay(caller: Admin, webhookId: number, span: ReplaySpan): Promise<Replay>
  find(caller: Admin, webhookId: number, id: number): Promise<Replay>
  /** Returns the latest 50 replays of a webhook, latest first. */
  list(caller: Admin, webhookId: number): Promise<Replay[]>
  /**
   * Cancels a replay: stops queueing events, and removes the replay's pending deliveries.
   * @throws Problem 409 if the replay has ended and none of its deliveries is pending
   */
  cancel(caller: Admin, webhookId: number, id: number): Promise<void>
  /** The source of replays in the list of long jobs. */
  readonly jobs: JobSource
  /** Resumes replays and cancellations whose jobs have finally failed, and deletes old replays. */
  tidy(): Promise<void>
}

interface ReplayJob {
  id: number
  tenant_id: number
}

interface CancelJob extends ReplayJob {
  webhook_id: number
}

/** The job that queues events. Each retry resumes where the job stopped, so an outage only delays the replay. */
const REPLAY = jobKind<ReplayJob>('webhooks.replay', {
  retries: 30,
  retryDelaySeconds: 5,
  retryDelayMaxSeconds: 3600,
  expireInSeconds: 900,
})
const CANCEL = jobKind<CancelJob>('webhooks.cancel-replay', {
  retries: 30,
  retryDelayMaxSeconds: 3600,
})
const BATCH = 1000

export function replaysService(deps: ReplaysDeps): Replays {
  const { db, clock, jobs, keepDays } = deps
  const iso = (ms: number) => new Date(ms).toISOString()

  const send = (tx: TenantTx, { id, tenant_id }: ReplayJob) =>
    jobs.send(tx, REPLAY, { id, tenant_id }, { singletonKey: String(id) })

  const sendCancel = (tx: TenantTx, { id, tenant_id, webhook_id }: CancelJob) =>
    jobs.send(tx, CANCEL, { id, tenant_id, webhook_id }, { singletonKey: String(id) })

  jobs.work(REPLAY, (job, { signal }) => runReplay(deps, job, signal), { concurrency: 3 })
  jobs.work(CANCEL, (job, { signal }) => cancelReplay(deps, job, signal), { concurrency: 3 })

  function spanOf(
    { since, until, only_failed = false }: Partial<ReplayOrder>,
    refuse: Refuse,
    part: 'body' | 'query' = 'body',
  ): ReplaySpan {
    const now = clock.now()
    // Events are stored for whole days, so a replay can start at the beginning of the oldest day.
    const earliest = Math.floor((now - keepDays * DAY) / DAY) * DAY
    const start = since === undefined ? earliest : instantOf(since)
    if (start > now) refuse([part, 'since'], 'since must not be in the future')
    if (start < earliest)
      refuse(
        [part, 'since'],
        `since must not be before ${iso(earliest)}, because older events are not kept`,
      )
    // The last millisecond of the period. A date without a time includes the whole day.
    const end = until === undefined ? now : instantOf(until) + (isBareDate(until) ? DAY - 1 : 0)
    if (since !== undefined && until !== undefined && end < start)
      refuse([part, 'until'], 'until must not be before since')
    return { since: iso(start), until: iso(Math.min(end, now)), only_failed }
  }

  async function cancel(tx: TenantTx, actor: Actor, webhookId: number, id: number): Promise<void> {
    const { tenant_id } = orNotFound(await findWebhook(tx, webhookId), 'webhook')
    await store.lockReplay(tx, id)
    const { state, waiting } = await existing(tx, webhookId, id)
    const isOpen = state === 'running' || (state === 'completed' && waiting > 0)
    if (!isOpen) throw new Problem('replay_over')
    await store.advanceReplay(tx, id, { state: 'cancelled', finished_at: iso(clock.now()) })
    await sendCancel(tx, { id, tenant_id, webhook_id: webhookId })
    await append(tx, actor, {
      ...journalEntry('webhook.replay_cancelled', 'webhook', { tenant_id, id: webhookId }),
      changes: { replay_id: id },
    })
  }

  return {
    spanOf,

    preview: (caller, webhook_id, span) =>
      db.inTenant(
        caller.tenant_id,
        async (tx) => {
          const { events } = orNotFound(await findWebhook(tx, webhook_id), 'webhook')
          const { since, until, only_failed } = span
          const { read, count } = only_failed
            ? await previews.countFailed(tx, { webhook_id, since, until })
            : await previews.countEvents(
                tx,
                span,
                PUBLIC_ACTIONS.filter((action) => isWanted(events, action)),
              )
          return { since, until, count, is_minimum: read === previews.MAX_COUNTED }
        },
        'read',
      ),

    replay: (caller, webhookId, span) =>
      db.inTenant(caller.tenant_id, async (tx) => {
        // Runs concurrent requests one after the other, so that each sees a replay that another request has started.
        const { tenant_id } = orNotFound(await lockWebhook(tx, webhookId), 'webhook')
        const running = await store.findRunningReplay(tx, webhookId)
        if (running)
          throw new Problem('replay_running', {
            detail: `Replay ${running.id} of this webhook is running. Wait until it ends, or cancel it.`,
          })
        const actor = actorOf(caller)
        const { since, until, only_failed } = span
        const order = { tenant_id, webhook_id: webhookId, ...span, actor: ordererOf(actor) }
        const replay = await store.insertReplay(tx, order)
        await send(tx, { id: replay.id, tenant_id })
        await append(tx, actor, {
          ...journalEntry('webhook.replayed', 'webhook', { tenant_id, id: webhookId }),
          changes: { replay_id: replay.id, since, until, ...(only_failed ? { only_failed } : {}) },
        })
        return { ...replay, waiting: 0, delivered: 0, failed: 0 }
      }),

    find: (caller, webhookId, id) =>
      db.inTenant(caller.tenant_id, (tx) => existing(tx, webhookId, id), 'read'),

    list: (caller, webhookId) =>
      db.inTenant(
        caller.tenant_id,
        async (tx) => {
          orNotFound(await findWebhook(tx, webhookId), 'webhook')
          return store.listReplays(tx, webhookId)
        },
        'read',
      ),

    cancel: (caller, webhookId, id) =>
      db.inTenant(caller.tenant_id, (tx) => cancel(tx, actorOf(caller), webhookId, id)),

    jobs: {
      kinds: ['replay'],
      select: store.REPLAY_JOBS,
      async cancel(job, actor) {
        const cancelled = db.inTenant(job.tenant_id as number, (tx) =>
          cancel(tx, actor, Number(job.subject_id), store.replayIdOf(job)),
        )
        return cancelled.then(() => true, isOver)
      },
    },

    tidy: () =>
      db.acrossTenants(async (tx) => {
        const now = clock.now()
        await store.forgetReplays(tx, iso(now - keepDays * DAY), iso(now))
        for (const replay of await store.listRunning(tx)) await send(tx, replay)
        for (const replay of await store.listUnswept(tx)) await sendCancel(tx, replay)
      }),
  }
}

/** Returns false for a replay that has ended, and rethrows every other error. */
function isOver(error: unknown): false {
  if (error instanceof Problem && (error.code === 'replay_over' || error.code === 'not_found'))
    return false
  throw error
}

async function existing(tx: TenantTx, webhookId: number, id: number): Promise<Replay> {
  const replay = await store.findReplay(tx, webhookId, id)
  if (!replay) throw new Problem('not_found', { detail: 'No such replay' })
  return replay
}

/** Removes the pending deliveries of a cancelled replay in batches. Exported for its test. */
export async function cancelReplay(
  { db, clock }: Pick<ReplaysDeps, 'db' | 'clock'>,
  { id, tenant_id, webhook_id }: CancelJob,
  signal: AbortSignal,
): Promise<void> {
  await inBatches(signal, () =>
    db.inTenant(tenant_id, async (tx) => {
      const count = await store.withdrawReplay(tx, { id, webhook_id }, isoAt(clock), BATCH)
      // The process that sends may have fetched these deliveries in advance. The notification makes it discard them.
      if (count > 0) tx.invalidate(`webhook:${webhook_id}`)
      return count === BATCH
    }),
  )
}

/**
 * Queues the events of a replay in batches until its end. Exported for its test.
 * @throws signal.reason if the signal aborts before the end. Another process then resumes the job.
 */
export async function runReplay(
  { db, clock }: Pick<ReplaysDeps, 'db' | 'clock'>,
  { id, tenant_id }: ReplayJob,
  signal: AbortSignal,
): Promise<void> {
  const replay = await db.inTenant(tenant_id, (tx) => store.lockRunning(tx, id))
  if (!replay) return
  // Creates missing partitions, because days before the first webhook and expired days have none.
  await ensureWebhookDays(db, replay.event_at)
  await inBatches(signal, () =>
    db.inTenant(tenant_id, (tx) => queueBatch(tx, replay, isoAt(clock))),
  )
}

/** Queues one batch of events and saves the progress in one transaction. Returns whether more events may follow. */
async function queueBatch(
  tx: TenantTx,
  { id, webhook_id }: { id: number; webhook_id: number },
  now: string,
): Promise<boolean> {
  // Locks in the order of a deletion, which locks the webhook, its queue and then its replays. In another order, a
  // batch could deadlock with the deletion, and block the fan-out of all tenants.
  if (!(await keepWebhook(tx, webhook_id))) return false
  const replay = await store.lockRunning(tx, id)
  if (!replay) return false
  const { only_failed } = replay
  const entries = await (only_failed ? store.readFailed : store.readEntries)(tx, replay, BATCH)
  const events = entries.filter(({ action }) => only_failed || isWanted(replay.events, action))
  if (events.length > 0) {
    // Locks the queue before the deliveries. All code that locks both must use this order, to avoid deadlocks.
    await scheduleQueue(tx, replay.webhook_id, now)
    await store.queueEvents(tx, replay, events, now)
    notifyDue(tx, [replay.webhook_id])
  }
  const last = entries.at(-1) ?? { created_at: replay.event_at, id: replay.entry_id }
  const isLast = entries.length < BATCH
  await store.advanceReplay(tx, id, {
    // Stays after the period, see `insertReplay`.
    ...(only_failed ? {} : { event_at: last.created_at }),
    entry_id: last.id,
    found: replay.found + events.length,
    ...(isLast ? { state: 'completed', finished_at: now } : {}),
  })
  return !isLast
}
