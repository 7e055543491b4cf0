/**
 * A queue as the process that has leased it knows it: what waits to be sent, what is under way, how it does.
 * Nothing else changes one.
 */
import type { Time } from '../../../lib/time.ts'
import type { Target } from '../sending/attempt.ts'
import { type Circuit, slotsNow } from './circuit.ts'
import { type ClaimedQueue, LEASE_SECONDS, type QueueState } from './claims.store.ts'
import type { DueDelivery } from './deliveries.store.ts'

export interface Queue {
  readonly id: number
  readonly tenantId: number
  readonly epoch: number
  /** What the queue's row said of it when it was claimed. */
  readonly resets: number
  readonly target: Target
  readonly claimedAt: number
  /** When the first of its secrets expires, in milliseconds since the Unix epoch. */
  readonly secretsExpireAt: number
  circuit: Circuit
  /** Fetched and not begun. */
  waiting: DueDelivery[]
  /** Under way. */
  running: number
  /** Begun and not written down yet, so that they are not fetched a second time. */
  open: Set<number>
  /** Written down since the fetch that is under way began: it may still see them as they were. */
  closed: Set<number>
  /** Whether there may be due deliveries that are not fetched. */
  wantsMore: boolean
  /** Whether another delivery has come first since the fetch that is under way began. */
  isOutrun: boolean
  /** Since when it has had nothing to do; what comes within a moment needs no new claim. */
  idleSince: number | undefined
  /** Until when the lease is sure to hold. */
  leasedUntil: number
  /** Whether nothing more is begun: the webhook has changed, or the lease is somebody else's. */
  isOver: boolean
}

/** A lease is trusted for this long after it was asked for: less than it lasts, for the way there. */
export const TRUSTED_MS = LEASE_SECONDS * 1000 - 2_000

/** Fetched for each message that may be under way, so that sending does not wait for fetching. */
const AHEAD = 12

/** @param askedAt when the claim was sent, by the monotonic clock */
export function openQueue(claimed: ClaimedQueue, target: Target, askedAt: number): Queue {
  return {
    id: claimed.webhook_id,
    tenantId: claimed.tenant_id,
    epoch: claimed.epoch,
    resets: claimed.resets,
    target,
    claimedAt: askedAt,
    secretsExpireAt: Math.min(
      ...claimed.secrets.map(({ expires_at: at }) =>
        at === null ? Number.POSITIVE_INFINITY : Date.parse(at),
      ),
    ),
    circuit: {
      failures: claimed.failures,
      share: claimed.failure_share,
      failing_since: claimed.failing_since,
      failedAt: claimed.failed_at === null ? 0 : Date.parse(claimed.failed_at),
      slots: claimed.slots,
      pausedUntil: claimed.paused_until === null ? 0 : Date.parse(claimed.paused_until),
    },
    waiting: [],
    running: 0,
    open: new Set(),
    closed: new Set(),
    wantsMore: true,
    isOutrun: false,
    idleSince: undefined,
    leasedUntil: askedAt + TRUSTED_MS,
    isOver: false,
  }
}

/** Whether one more message may go out now. */
export function maySend(queue: Queue, clock: Pick<Time, 'now' | 'monotonic'>): boolean {
  return (
    !queue.isOver &&
    queue.waiting.length > 0 &&
    queue.running < slotsNow(queue.circuit) &&
    queue.circuit.pausedUntil <= clock.now() &&
    queue.leasedUntil > clock.monotonic()
  )
}

/** Whether its next deliveries should be fetched, before it runs dry. */
export function isHungry(queue: Queue, now: number): boolean {
  return (
    queue.wantsMore &&
    !queue.isOver &&
    queue.circuit.pausedUntil <= now &&
    queue.waiting.length < Math.floor(queue.circuit.slots)
  )
}

/** There may be due deliveries that it has not fetched. */
export function wantMore(queue: Queue): void {
  queue.wantsMore = true
}

/**
 * A delivery has come before all that wait, and is to be tried now: they are read anew, in their order, and without
 * waiting for the end of a pause that whoever wants it could not know of.
 */
export function startOver(queue: Queue): void {
  queue.circuit = { ...queue.circuit, pausedUntil: 0 }
  queue.waiting = []
  queue.wantsMore = true
  queue.isOutrun = true
}

/** Its next deliveries are about to be read. Returns how many there may be at most. */
export function fetching(queue: Queue): number {
  queue.wantsMore = false
  queue.isOutrun = false
  queue.closed.clear()
  return queue.open.size + queue.waiting.length + Math.floor(queue.circuit.slots) * AHEAD
}

/**
 * Queues what was read, without what is known already. Returns those deliveries that cannot be sent,
 * as their events are gone.
 * @param limit how many were asked for
 */
export function fetched(
  queue: Queue,
  found: readonly DueDelivery[],
  limit: number,
  clock: Pick<Time, 'monotonic'>,
): DueDelivery[] {
  if (queue.isOutrun) return []
  // As many as were asked for: there may be more behind them.
  if (found.length === limit) queue.wantsMore = true
  const queued = new Set(queue.waiting.map(({ id }) => id))
  const isKnown = (id: number) => queue.open.has(id) || queue.closed.has(id) || queued.has(id)
  const fresh = found.filter(({ id }) => !isKnown(id))
  const [lost, whole] = [true, false].map((isLost) =>
    fresh.filter(({ resource_type }) => (resource_type === null) === isLost),
  ) as [DueDelivery[], DueDelivery[]]
  if (!queue.isOver) queue.waiting.push(...whole)
  queue.idleSince = queue.waiting.length > 0 ? undefined : (queue.idleSince ?? clock.monotonic())
  return lost
}

/** Takes the next delivery out of the queue, to be sent. */
export function begin(queue: Queue): DueDelivery | undefined {
  const delivery = queue.waiting.shift()
  if (!delivery) return undefined
  queue.running += 1
  queue.open.add(delivery.id)
  return delivery
}

/** A try has ended and is not to be written down: its delivery may be fetched again. */
export function cutOff(queue: Queue, { id }: DueDelivery): void {
  queue.running -= 1
  queue.open.delete(id)
}

/** A try has ended, and this is how the receiver does since. It stays open until it is written down. */
export function ended(queue: Queue, circuit: Circuit, now: number): void {
  queue.running -= 1
  queue.circuit = circuit
  // What is queued waits in the database for the end of a pause.
  if (circuit.pausedUntil > now) queue.waiting = []
}

/** How a try went is written down. */
export function settled(queue: Queue, { id }: DueDelivery, clock: Pick<Time, 'monotonic'>): void {
  queue.open.delete(id)
  queue.closed.add(id)
  if (isQuiet(queue) && queue.waiting.length === 0) queue.idleSince ??= clock.monotonic()
}

/** Takes over what a lapsed lease of the same webhook has under way, unless that went to another address. */
export function inherit(queue: Queue, lapsed: Queue): void {
  end(lapsed)
  if (lapsed.target.url !== queue.target.url) return
  queue.open = lapsed.open
  queue.closed = lapsed.closed
}

/** Its lease was renewed. @param askedAt when that was asked for, by the monotonic clock */
export function renewed(queue: Queue, askedAt: number): void {
  queue.leasedUntil = askedAt + TRUSTED_MS
}

/** Begins nothing more in the queue before `until`, in milliseconds since the Unix epoch. */
export function pauseUntil(queue: Queue, until: number): void {
  queue.circuit = { ...queue.circuit, pausedUntil: until }
  end(queue)
}

/** Begins nothing more in the queue; it is let go of once quiet. */
export function end(queue: Queue): void {
  queue.isOver = true
  queue.waiting = []
}

/** Whether all that was begun has ended and is written down. */
export function isQuiet(queue: Queue): boolean {
  return queue.running === 0 && queue.open.size === 0
}

export function stateOf({ id, epoch, circuit }: Queue): QueueState {
  return {
    id,
    epoch,
    failures: circuit.failures,
    failure_share: circuit.share,
    failing_since: circuit.failing_since,
    failed_at: circuit.failedAt === 0 ? null : new Date(circuit.failedAt).toISOString(),
    slots: Math.floor(circuit.slots),
    paused_until: circuit.pausedUntil === 0 ? null : new Date(circuit.pausedUntil).toISOString(),
  }
}
