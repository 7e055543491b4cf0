/** The queues that a process has leased. A heartbeat renews the leases. Queues without due deliveries are released. */
import { randomUUID } from 'node:crypto'
import { type Batcher, batcher } from '../../../lib/batcher.ts'
import { isoAt, MINUTE } from '../../../lib/clock.ts'
import type { Time } from '../../../lib/time.ts'
import type { KeyRing } from '../../../platform/crypto/index.ts'
import { type Changes, isResting, type Scopes } from '../../../platform/db/index.ts'
import { canFail } from '../../../platform/observe/can-fail.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import type { SendBudget } from './budget.ts'
import * as store from './claims.store.ts'
import { openQueue, type Queue } from './queue.ts'
import { openTarget } from './targets.ts'
import type { Tuning } from './tuning.ts'

export interface Leases {
  readonly queues: ReadonlyMap<number, Queue>
  /** Claims queues while there is room. Calls must not overlap. Returns the number, and whether more may be due. */
  claim(): Promise<{ claimed: number; hasMore: boolean }>
  /** Ends the lease of a webhook that may have changed, so that the webhook is read again. Null ends all leases. */
  change(webhookId: number | null): void
  /** Ends the leases of all webhooks of a tenant that may have changed. */
  changeTenant(tenantId: number): void
  /** Renews the leases, and clears the due times of queues whose webhooks are inactive. */
  renew(): Promise<void>
  /** Releases the queues that have nothing to send. Returns how many were released. */
  release(): Promise<number>
  /** Releases all queues without messages in flight. Retries locked queues for up to `patienceMs`. */
  releaseAll(patienceMs: number): Promise<void>
  /** Saves the state of a receiver that has started to fail or has recovered. */
  save(queue: Queue): void
  idle(): Promise<void>
  /** Logs an internal error, and pauses the queue for five minutes. */
  fail(queue: Queue, why: string, err?: unknown): void
  /** Returns whether a queue has used up its time slice and this process has no room for other queues. */
  isOverdue(queue: Queue): boolean
}

export interface LeasesDeps {
  db: Scopes
  changes: Pick<Changes, 'isInMaintenance'>
  clock: Time
  keyRing: KeyRing
  log: Logger
  tuning: Tuning
  budget: SendBudget
}

const FAULT_PAUSE = 5 * MINUTE
/** The minimum time between two writes of receiver states. */
const GATHERED_MS = 100
/** The delay before another attempt to release queues that were locked. */
const AGAIN_MS = 20
const NOWHERE = { url: '', keys: [] }

export function openLeases(deps: LeasesDeps): Leases {
  const { db, changes, clock, keyRing, log, tuning, budget } = deps
  const worker = randomUUID()
  const queues = new Map<number, Queue>()
  /** Webhooks changed since the current claim began. The claim may have read their state from before the change. */
  const changed = new Set<number | null>()
  const changedTenants = new Set<number>()
  const logUnreadable = unreadableLogger(log)

  const states = openStateWriter(deps)
  const save = (queue: Queue) => void states.add(queue)

  /** Returns how many more queues this process may lease. Up to `slowQueues` queues of slow receivers do not count. */
  function room(): number {
    const slow = [...queues.values()].filter(
      (queue) => queue.circuit.failures > 0 || budget.isSlow(queue),
    ).length
    return tuning.queues - queues.size + Math.min(slow, tuning.slowQueues)
  }

  function fail(queue: Queue, why: string, err?: unknown): void {
    log.error({ err, webhook_id: queue.id }, `webhook paused: ${why}`)
    queue.pauseUntil(clock.now() + FAULT_PAUSE)
  }

  const isOverdue = (queue: Queue) =>
    clock.monotonic() - queue.claimedAt > tuning.timeSliceMs && room() <= 0

  function isDone(queue: Queue): boolean {
    if (queue.isOver || queue.circuit.pausedUntil > clock.now()) return true
    const now = clock.monotonic()
    if (queue.leasedUntil < now) return true
    if (queue.waiting > 0) return false
    const idleSince = queue.idleSince()
    const isIdle = idleSince !== undefined && now - idleSince >= tuning.idleTimeoutMs
    return (isIdle && !queue.wantsMore) || isOverdue(queue)
  }

  async function renew(): Promise<void> {
    // Skips the queues of tenants in maintenance mode.
    const leased = [...queues.values()].filter(({ tenantId }) => !changes.isInMaintenance(tenantId))
    if (leased.length === 0) return
    const askedAt = clock.monotonic()
    const answers = await db.acrossTenants((tx) => store.renewLeases(tx, leased))
    const of = new Map(answers.map((answer) => [answer.id, answer]))
    for (const queue of leased) {
      const { isRenewed = false, isLost = false } = of.get(queue.id) ?? {}
      if (isRenewed) queue.renewed(askedAt)
      // When a secret expires, ends the lease even of a busy queue, so that a replaced secret signs for one day only.
      if (isLost || queue.secretsExpireAt <= clock.now()) queue.end()
    }
  }

  const quiet = () => [...queues.values()].filter((queue) => queue.isQuiet())

  async function release(done: readonly Queue[]): Promise<number> {
    if (done.length === 0) return 0
    // Starts no further messages in these queues. If they cannot be released, their leases expire.
    for (const queue of done) queue.end()
    const free = await db.acrossTenants((tx) =>
      store.releaseQueues(
        tx,
        done.map((queue) => queue.state()),
      ),
    )
    const released = new Set(free)
    for (const queue of done)
      if (released.has(queue.id) && queues.get(queue.id) === queue) queues.delete(queue.id)
    return free.length
  }

  return {
    queues,
    fail,
    isOverdue,
    async claim() {
      const limit = room()
      if (limit <= 0) return { claimed: 0, hasMore: false }
      // After an outage, first renews the leases of this process. Otherwise the process would claim its own queues.
      if ([...queues.values()].some(({ leasedUntil }) => leasedUntil < clock.monotonic()))
        await renew()
      const askedAt = clock.monotonic()
      const now = isoAt(clock)
      changed.clear()
      changedTenants.clear()
      const opened = await db.acrossTenants(async (tx) => {
        const claimed = await store.claimQueues(tx, { worker, limit, now })
        return Promise.all(
          claimed.map(async (queue) => ({ queue, target: await openTarget(keyRing, tx, queue) })),
        )
      })
      for (const { queue: claimed, target } of opened) {
        const lapsed = queues.get(claimed.webhook_id)
        const queue = openQueue(claimed, { target: target ?? NOWHERE, askedAt, clock, lapsed })
        queues.set(queue.id, queue)
        const isStale =
          changed.has(queue.id) || changed.has(null) || changedTenants.has(queue.tenantId)
        if (isStale) queue.end()
        else if (!target) fail(queue, 'its secret cannot be decrypted; rotate it')
        else logUnreadable(queue.id, target.keys.length < claimed.secrets.length)
      }
      return { claimed: opened.length, hasMore: opened.length === limit }
    },
    change(webhookId) {
      changed.add(webhookId)
      for (const queue of queues.values())
        if (webhookId === null || queue.id === webhookId) queue.end()
    },
    changeTenant(tenantId) {
      changedTenants.add(tenantId)
      for (const queue of queues.values()) if (queue.tenantId === tenantId) queue.end()
    },
    async renew() {
      await renew()
      if (changes.isInMaintenance(null)) return
      const now = isoAt(clock)
      const work = db.acrossTenants((tx) => store.unscheduleInactive(tx, now))
      await canFail(work, 'unscheduling of inactive webhooks', log)
    },
    release: () => release(quiet().filter(isDone)),
    async releaseAll(patienceMs) {
      const until = clock.monotonic() + patienceMs
      // Waits for a running write of receiver states, which has locked queues. Other processes may lock queues too.
      await states.stop(patienceMs)
      await release(quiet())
      while (quiet().length > 0 && clock.monotonic() < until) {
        await clock.delay(AGAIN_MS)
        await release(quiet())
      }
    },
    save,
    idle: states.idle,
  }
}

/** Saves the states of receivers, many in one transaction. */
function openStateWriter({ db, clock, log }: LeasesDeps): Batcher<Queue> {
  const states = batcher<Queue>(
    async (changed) => {
      const rows = changed.map((queue) => queue.state())
      const saved = await db.acrossTenants((tx) => store.saveQueues(tx, rows))
      // Retries queues that were locked. The state of a queue whose lease is over is saved when the queue is released.
      for (const queue of changed) if (!saved.has(queue.id) && !queue.isOver) void states.add(queue)
    },
    {
      clock,
      // Limits the rate of writes, because the state of an occasionally failing receiver changes with every message.
      minGapMs: GATHERED_MS,
      onError(error) {
        if (isResting(error)) return 'retry'
        log.warn({ err: error }, 'recording of receiver states failed')
        return 'drop'
      },
    },
  )
  return states
}

/**
 * Creates a function that logs webhooks whose secrets cannot be decrypted. It logs a webhook once. It logs the webhook
 * again only if all its secrets could be decrypted in the meantime.
 */
function unreadableLogger(log: Logger): (webhookId: number, isUnreadable: boolean) => void {
  const logged = new Set<number>()
  return (webhookId, isUnreadable) => {
    if (!isUnreadable) return void logged.delete(webhookId)
    if (logged.has(webhookId)) return
    logged.add(webhookId)
    const text =
      'a secret of a webhook cannot be decrypted, so only its other secrets sign; rotate it'
    log.warn({ webhook_id: webhookId }, text)
  }
}
