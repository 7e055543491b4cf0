/** Replays: a webhook's events of a time are queued again, in batches by a job, one replay at a time. */

import { type Clock, DAY, isoAt } from '../../../lib/clock.ts'
import { inBatches } from '../../../lib/in-batches.ts'
import { instantOf, isBareDate } from '../../../lib/instant.ts'
import { orNotFound, Problem, type Refuse } from '../../../lib/problems.ts'
import type { Admin } from '../../../platform/access/index.ts'
import type { Scopes, TenantTx } from '../../../platform/db/index.ts'
import { type Jobs, jobKind } from '../../../platform/jobs/index.ts'
import { actorOf, append, journalEntry } from '../../../platform/journal/index.ts'
import { scheduleQueue } from '../engine/queues.store.ts'
import { notifyDue } from '../engine/topics.ts'
import { isWanted } from '../events/subscription.ts'
import { findWebhook, keepWebhook, lockWebhook } from '../registrations/registrations.store.ts'
import { ensureWebhookDays } from '../upkeep/days.ts'
import type { Replay, ReplayOrder } from '../webhooks.schema.ts'
import * as store from './replays.store.ts'

export interface ReplaysDeps {
  db: Scopes
  clock: Clock
  jobs: Jobs
  /** How far back a replay may reach (`WEBHOOK_RETENTION_DAYS`). */
  keepDays: number
}

/** ISO 8601 with milliseconds, both inclusive. */
export interface ReplaySpan {
  since: string
  until: string
}

export interface Replays {
  /** The time that is asked for. Refused when it begins too long ago or in the future, or ends before. */
  spanOf(order: Partial<ReplayOrder>, refuse: Refuse): ReplaySpan
  /** Has the events of that time queued again. @throws Problem 409 while another one is under way */
  replay(caller: Admin, webhookId: number, span: ReplaySpan): Promise<Replay>
  find(caller: Admin, webhookId: number, id: number): Promise<Replay>
  /**
   * Has nothing more queued, and what still waits taken back.
   * @throws Problem 409 where nothing is left to cancel
   */
  cancel(caller: Admin, webhookId: number, id: number): Promise<void>
  /** Goes on with what jobs have given up, and forgets what is over for long. */
  tidy(): Promise<void>
}

interface ReplayJob {
  id: number
  tenant_id: number
}

interface CancelJob extends ReplayJob {
  webhook_id: number
}

/** It goes on where it stood, so a database that is away for a day only delays it. */
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
  jobs.work(CANCEL, (job, { signal }) => withdraw(deps, job, signal), { concurrency: 3 })

  function spanOf({ since, until }: Partial<ReplayOrder>, refuse: Refuse): ReplaySpan {
    const now = clock.now()
    // Whole days are kept, so the oldest may be asked for by its date.
    const earliest = Math.floor((now - keepDays * DAY) / DAY) * DAY
    const start = since === undefined ? earliest : instantOf(since)
    if (start > now) refuse(['body', 'since'], 'since must not be in the future')
    if (start < earliest)
      refuse(
        ['body', 'since'],
        `since must not be before ${iso(earliest)}; older events are not kept`,
      )
    // The last millisecond that counts.
    const end = until === undefined ? now : instantOf(until) + (isBareDate(until) ? DAY - 1 : 0)
    if (since !== undefined && until !== undefined && end < start)
      refuse(['body', 'until'], 'until must not be before since')
    return { since: iso(start), until: iso(Math.min(end, now)) }
  }

  return {
    spanOf,

    replay: (caller, webhookId, { since, until }) =>
      db.inTenant(caller.tenant_id, async (tx) => {
        // Of several at once, each sees the one before.
        const { tenant_id } = orNotFound(await lockWebhook(tx, webhookId), 'webhook')
        const running = await store.findRunning(tx, webhookId)
        if (running)
          throw new Problem('replay_running', {
            detail: `replay ${running.id} of this webhook is under way; wait for its end or cancel it`,
          })
        const order = { tenant_id, webhook_id: webhookId, since, until }
        const replay = await store.insertReplay(tx, order)
        await send(tx, { id: replay.id, tenant_id })
        await append(tx, actorOf(caller), {
          ...journalEntry('webhook.replayed', 'webhook', { tenant_id, id: webhookId }),
          changes: { replay_id: replay.id, since, until },
        })
        return { ...replay, waiting: 0, delivered: 0, failed: 0 }
      }),

    find: (caller, webhookId, id) =>
      db.inTenant(caller.tenant_id, (tx) => existing(tx, webhookId, id), 'read'),

    cancel: (caller, webhookId, id) =>
      db.inTenant(caller.tenant_id, async (tx) => {
        const { tenant_id } = orNotFound(await findWebhook(tx, webhookId), 'webhook')
        await store.lockReplay(tx, id)
        const { state, waiting } = await existing(tx, webhookId, id)
        const isOpen = state === 'running' || (state === 'completed' && waiting > 0)
        if (!isOpen) throw new Problem('replay_over')
        await store.advanceReplay(tx, id, { state: 'cancelled', finished_at: iso(clock.now()) })
        await sendCancel(tx, { id, tenant_id, webhook_id: webhookId })
        await append(tx, actorOf(caller), {
          ...journalEntry('webhook.replay_cancelled', 'webhook', { tenant_id, id: webhookId }),
          changes: { replay_id: id },
        })
      }),

    tidy: () =>
      db.acrossTenants(async (tx) => {
        const now = clock.now()
        await store.forgetReplays(tx, iso(now - keepDays * DAY), iso(now))
        for (const replay of await store.listRunning(tx)) await send(tx, replay)
        for (const replay of await store.listUnswept(tx)) await sendCancel(tx, replay)
      }),
  }
}

async function existing(tx: TenantTx, webhookId: number, id: number): Promise<Replay> {
  const replay = await store.findReplay(tx, webhookId, id)
  if (!replay) throw new Problem('not_found', { detail: 'There is no such replay' })
  return replay
}

/** Exported for its test. Takes back batch after batch of what still waits of a cancelled replay. */
export async function withdraw(
  { db, clock }: Pick<ReplaysDeps, 'db' | 'clock'>,
  { id, tenant_id, webhook_id }: CancelJob,
  signal: AbortSignal,
): Promise<void> {
  await inBatches(signal, () =>
    db.inTenant(tenant_id, async (tx) => {
      const count = await store.withdraw(tx, { id, webhook_id }, isoAt(clock), BATCH)
      // Whoever sends has read ahead: that is not sent either.
      if (count > 0) tx.invalidate(`webhook:${webhook_id}`)
      return count === BATCH
    }),
  )
}

/**
 * Exported for its test. Queues batch after batch, to the end.
 * @throws signal.reason when it aborts before: then the job is not done, and goes on elsewhere
 */
export async function runReplay(
  { db, clock }: Pick<ReplaysDeps, 'db' | 'clock'>,
  { id, tenant_id }: ReplayJob,
  signal: AbortSignal,
): Promise<void> {
  const replay = await db.inTenant(tenant_id, (tx) => store.lockRunning(tx, id))
  if (!replay) return
  // Of days before the first webhook, and of those whose deliveries were thrown away.
  await ensureWebhookDays(db, replay.event_at)
  await inBatches(signal, () =>
    db.inTenant(tenant_id, (tx) => queueBatch(tx, replay, isoAt(clock))),
  )
}

/** One batch, and how far it has come, in one transaction. Returns whether there may be more. */
async function queueBatch(
  tx: TenantTx,
  { id, webhook_id }: { id: number; webhook_id: number },
  now: string,
): Promise<boolean> {
  // A deletion locks the webhook, its queue and then its replays. A batch that held its replay and
  // waited for the queue would deadlock with it, and keep everybody's fan-out waiting meanwhile.
  if (!(await keepWebhook(tx, webhook_id))) return false
  const replay = await store.lockRunning(tx, id)
  if (!replay) return false
  const entries = await store.readEntries(tx, replay, BATCH)
  const events = entries.filter(({ action }) => isWanted(replay.events, action))
  if (events.length > 0) {
    // The queue before the deliveries, as everyone does who needs both.
    await scheduleQueue(tx, replay.webhook_id, now)
    await store.queueEvents(tx, replay, events, now)
    notifyDue(tx, [replay.webhook_id])
  }
  const last = entries.at(-1) ?? { created_at: replay.event_at, id: replay.entry_id }
  const isLast = entries.length < BATCH
  await store.advanceReplay(tx, id, {
    event_at: last.created_at,
    entry_id: last.id,
    found: replay.found + events.length,
    ...(isLast ? { state: 'completed', finished_at: now } : {}),
  })
  return !isLast
}
