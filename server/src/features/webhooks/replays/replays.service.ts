/** Replays: a webhook's events of a time are queued again, in batches by a job. */
import { randomUUID } from 'node:crypto'
import { type Clock, DAY } from '../../../lib/clock.ts'
import { instantOf, isBareDate } from '../../../lib/instant.ts'
import { invalidValue } from '../../../lib/problems.ts'
import type { Admin } from '../../../platform/access/index.ts'
import type { Scopes, TenantTx } from '../../../platform/db/index.ts'
import { type Jobs, jobKind } from '../../../platform/jobs/index.ts'
import { actorOf, append } from '../../../platform/journal/index.ts'
import { makeDue } from '../engine/lanes.store.ts'
import { announceDue } from '../engine/topics.ts'
import { isWanted } from '../events/subscription.ts'
import { found } from '../registrations/registrations.service.ts'
import { findWebhook } from '../registrations/registrations.store.ts'
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

export interface Replays {
  /**
   * Has the events of that time queued again.
   * @throws InvalidInput when it begins too long ago or in the future, or ends before it begins
   */
  replay(caller: Admin, webhookId: number, order: ReplayOrder): Promise<Replay>
  /** Goes on with replays whose job was given up. */
  resume(): Promise<void>
}

interface ReplayJob {
  id: string
  tenant_id: number
}

/** It goes on where it stood, so a database that is away for a day only delays it. */
const REPLAY = jobKind<ReplayJob>('replay-webhook', {
  retries: 30,
  retryDelaySeconds: 5,
  retryDelayMaxSeconds: 3600,
  expireInSeconds: 900,
})
const BATCH = 1000

export function replaysService(deps: ReplaysDeps): Replays {
  const { db, clock, jobs, keepDays } = deps
  const iso = (ms: number) => new Date(ms).toISOString()

  const send = (tx: TenantTx, { id, tenant_id }: ReplayJob) =>
    jobs.send(tx, REPLAY, { id, tenant_id }, { singletonKey: id })

  jobs.work(REPLAY, (job, { signal }) => runReplay(deps, job, signal), { atOnce: 3 })

  function sinceOf({ since }: ReplayOrder, now: number): number {
    const start = instantOf(since)
    // Whole days are kept, so the oldest may be asked for by its date.
    const earliest = Math.floor((now - keepDays * DAY) / DAY) * DAY
    const loc = ['body', 'since']
    if (start > now) throw invalidValue(loc, 'since must not be in the future')
    if (start < earliest)
      throw invalidValue(
        loc,
        `since must not be before ${iso(earliest)}; older events are not kept`,
      )
    return start
  }

  /** The last millisecond that counts. */
  function untilOf({ until }: ReplayOrder, start: number, now: number): number {
    if (until === undefined) return now
    const end = instantOf(until) + (isBareDate(until) ? DAY - 1 : 0)
    if (end < start) throw invalidValue(['body', 'until'], 'until must not be before since')
    return Math.min(end, now)
  }

  return {
    replay: (caller, webhookId, order) =>
      db.inTenant(caller.tenant_id, async (tx) => {
        const now = clock.now()
        const start = sinceOf(order, now)
        const [since, until] = [iso(start), iso(untilOf(order, start, now))]
        const { tenant_id } = await found(findWebhook(tx, webhookId))
        const id = randomUUID()
        const replay = { id, tenant_id, webhook_id: webhookId, event_at: since, until }
        await store.insertReplay(tx, replay)
        await send(tx, replay)
        await append(tx, actorOf(caller), {
          action: 'webhook.replayed',
          tenant_id,
          resource_type: 'webhook',
          resource_id: webhookId,
          changes: { since, until },
        })
        return { webhook_id: webhookId, since, until }
      }),

    resume: () =>
      db.acrossTenants(async (tx) => {
        for (const replay of await store.listReplays(tx)) await send(tx, replay)
      }),
  }
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
  const replay = await db.inTenant(tenant_id, (tx) => store.lockReplay(tx, id))
  if (!replay) return
  // Of days before the first webhook, and of those whose deliveries were thrown away.
  await ensureWebhookDays(db, replay.event_at)
  let more = true
  while (more) {
    signal.throwIfAborted()
    more = await db.inTenant(tenant_id, (tx) => queueBatch(tx, id, new Date(clock.now())))
  }
}

/** One batch, and how far it has come, in one transaction. Answers whether there may be more. */
async function queueBatch(tx: TenantTx, id: string, now: Date): Promise<boolean> {
  const replay = await store.lockReplay(tx, id)
  if (!replay) return false
  const entries = await store.readEntries(tx, replay, BATCH)
  const events = entries.filter(({ action }) => isWanted(replay.events, action))
  if (events.length > 0) {
    // The lane first, as everyone does who needs both.
    await makeDue(tx, replay.webhook_id, now.toISOString())
    await store.queueEvents(tx, replay, events, now.toISOString())
    announceDue(tx, [replay.webhook_id])
  }
  const last = entries.at(-1)
  if (last && entries.length === BATCH) await store.moveReplay(tx, id, last)
  else await store.deleteReplay(tx, id)
  return entries.length === BATCH
}
