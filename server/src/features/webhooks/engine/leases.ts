/** The queues that a process has leased: claimed, renewed by a heartbeat, released when nothing is left. */
import { randomUUID } from 'node:crypto'
import { batcher } from '../../../lib/batcher.ts'
import { isoAt, MINUTE } from '../../../lib/clock.ts'
import type { Time } from '../../../lib/time.ts'
import type { KeyRing } from '../../../platform/crypto/index.ts'
import { type Changes, isResting, type Scopes } from '../../../platform/db/index.ts'
import { canFail } from '../../../platform/observe/can-fail.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import type { Budget } from './budget.ts'
import * as store from './claims.store.ts'
import {
  end,
  inherit,
  isQuiet,
  openQueue,
  pauseUntil,
  type Queue,
  renewed,
  stateOf,
} from './queue.ts'
import { openTarget } from './targets.ts'
import type { Tuning } from './tuning.ts'

export interface Leases {
  readonly queues: ReadonlyMap<number, Queue>
  /** Claims queues while there is room, one call at a time. Returns how many, and whether there may be more. */
  claim(): Promise<{ claimed: number; hasMore: boolean }>
  /** Ends the lease of a webhook that may have changed, or of all for null: they are claimed and read anew. */
  change(webhookId: number | null): void
  /** As `change`, for all webhooks of a tenant. */
  changeTenant(tenantId: number): void
  /** Renews the leases, and tidies up for everybody's claims. */
  renew(): Promise<void>
  /** Releases the queues that have nothing to do. Returns how many. */
  release(): Promise<number>
  /** Releases all that is quiet, for up to `patienceMs` where somebody else has it locked. */
  releaseAll(patienceMs: number): Promise<void>
  /** Has it written down that a receiver has begun to fail, or does well again. */
  save(queue: Queue): void
  /** Resolves when the state of every receiver is saved. */
  idle(): Promise<void>
  /** Leaves a queue alone for a while, because of a fault of ours. */
  fail(queue: Queue, why: string, err?: unknown): void
  /** Whether a queue has been leased for long while others wait. */
  isOverdue(queue: Queue): boolean
}

export interface LeasesDeps {
  db: Scopes
  changes: Pick<Changes, 'isClosed'>
  clock: Time
  keyRing: KeyRing
  log: Logger
  tuning: Tuning
  budget: Budget
}

const FAULT_PAUSE = 5 * MINUTE
/** How long changes are gathered while they keep coming. */
const GATHERED_MS = 100
/** Between tries to let go of what is locked. */
const AGAIN_MS = 20
const NOWHERE = { url: '', keys: [] }

export function openLeases(deps: LeasesDeps): Leases {
  const { db, changes, clock, keyRing, log, tuning, budget } = deps
  const worker = randomUUID()
  const queues = new Map<number, Queue>()
  /** What has changed since the claim began that is under way: it may have read it before. */
  const changed = new Set<number | null>()
  const changedTenants = new Set<number>()
  const tellUnreadable = unreadableTeller(log)

  const states = batcher<Queue>(
    async (failing) => {
      const saved = await db.acrossTenants((tx) => store.saveQueues(tx, failing.map(stateOf)))
      // Of one that is let go of it is written down with that.
      for (const queue of failing) if (!saved.has(queue.id) && !queue.isOver) save(queue)
    },
    {
      clock,
      // A receiver that fails occasionally changes its state with every message.
      minGapMs: GATHERED_MS,
      onError(error) {
        if (isResting(error)) return 'retry'
        log.warn({ err: error }, 'writing down how receivers do failed')
        return 'drop'
      },
    },
  )

  function save(queue: Queue): void {
    void states.add(queue)
  }

  /** How many more queues may be leased. Those whose receivers are slow hardly count. */
  function room(): number {
    const slow = [...queues.values()].filter(
      (queue) => queue.circuit.failures > 0 || budget.isSlow(queue),
    ).length
    return tuning.queues - queues.size + Math.min(slow, tuning.slowQueues)
  }

  function fail(queue: Queue, why: string, err?: unknown): void {
    log.error({ err, webhook_id: queue.id }, `nothing is sent to a webhook for a while: ${why}`)
    pauseUntil(queue, clock.now() + FAULT_PAUSE)
  }

  const isOverdue = (queue: Queue) =>
    clock.monotonic() - queue.claimedAt > tuning.timeSliceMs && room() <= 0

  function isDone(queue: Queue): boolean {
    if (queue.isOver || queue.circuit.pausedUntil > clock.now()) return true
    const now = clock.monotonic()
    if (queue.leasedUntil < now) return true
    if (queue.waiting.length > 0) return false
    const isIdle = queue.idleSince !== undefined && now - queue.idleSince >= tuning.idleTimeoutMs
    return (isIdle && !queue.wantsMore) || isOverdue(queue)
  }

  async function renew(): Promise<void> {
    // Those of a clinic that is being restored are left alone.
    const leased = [...queues.values()].filter(({ tenantId }) => !changes.isClosed(tenantId))
    if (leased.length === 0) return
    const askedAt = clock.monotonic()
    const answers = await db.acrossTenants((tx) => store.renewLeases(tx, leased))
    const of = new Map(answers.map((answer) => [answer.id, answer]))
    for (const queue of leased) {
      const { isRenewed = false, isLost = false } = of.get(queue.id) ?? {}
      if (isRenewed) renewed(queue, askedAt)
      // However busy it is, an old secret signs along for its day and no longer.
      if (isLost || queue.secretsExpireAt <= clock.now()) end(queue)
    }
  }

  const quiet = () => [...queues.values()].filter(isQuiet)

  async function release(done: readonly Queue[]): Promise<number> {
    if (done.length === 0) return 0
    // From here on nothing is begun in them. While letting go fails, their leases run out.
    for (const queue of done) end(queue)
    const free = await db.acrossTenants((tx) => store.releaseQueues(tx, done.map(stateOf)))
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
      // After an outage the own leases come first, or they would be claimed anew.
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
        const queue = openQueue(claimed, target ?? NOWHERE, askedAt)
        const lapsed = queues.get(queue.id)
        // What is under way is not sent a second time.
        if (lapsed) inherit(queue, lapsed)
        queues.set(queue.id, queue)
        const isStale =
          changed.has(queue.id) || changed.has(null) || changedTenants.has(queue.tenantId)
        if (isStale) end(queue)
        else if (!target) fail(queue, 'its secret cannot be opened; give it a new one')
        else tellUnreadable(queue.id, target.keys.length < claimed.secrets.length)
      }
      return { claimed: opened.length, hasMore: opened.length === limit }
    },
    change(webhookId) {
      changed.add(webhookId)
      for (const queue of queues.values())
        if (webhookId === null || queue.id === webhookId) end(queue)
    },
    changeTenant(tenantId) {
      changedTenants.add(tenantId)
      for (const queue of queues.values()) if (queue.tenantId === tenantId) end(queue)
    },
    async renew() {
      await renew()
      if (changes.isClosed(null)) return
      const now = isoAt(clock)
      const work = db.acrossTenants((tx) => store.unscheduleInactive(tx, now))
      await canFail(work, 'unscheduling inactive webhooks', log)
    },
    release: () => release(quiet().filter(isDone)),
    async releaseAll(patienceMs) {
      const until = clock.monotonic() + patienceMs
      // A write that is under way has the rows of its queues locked, as a fan-out elsewhere may.
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

/** Tells of a webhook with secrets of which some do not open: once, until all do again. */
function unreadableTeller(log: Logger): (webhookId: number, isUnreadable: boolean) => void {
  const told = new Set<number>()
  return (webhookId, isUnreadable) => {
    if (!isUnreadable) return void told.delete(webhookId)
    if (told.has(webhookId)) return
    told.add(webhookId)
    const text =
      'a secret of a webhook cannot be opened, and its others sign alone: give it a new one'
    log.warn({ webhook_id: webhookId }, text)
  }
}
