/** The queue of a webhook in the process that leases it: deliveries pending and in flight, and the circuit breaker. */
import type { Time } from '../../../lib/time.ts'
import type { Target } from '../sending/attempt.ts'
import { type Circuit, slotsNow } from './circuit.ts'
import { type ClaimedQueue, QUEUE_LEASE_SECONDS, type QueueState } from './claims.store.ts'
import type { DueDelivery } from './deliveries.store.ts'

export interface Queue {
  readonly id: number
  readonly tenantId: number
  readonly epoch: number
  /** The reset counter of the queue when it was claimed. */
  readonly resets: number
  readonly target: Target
  /** The time at which the claim was sent, on the monotonic clock. */
  readonly claimedAt: number
  /** When the first of the webhook's secrets expires, in milliseconds since the Unix epoch. */
  readonly secretsExpireAt: number
  readonly circuit: Circuit
  /** The number of deliveries that were fetched but not begun. */
  readonly waiting: number
  /** True if no further delivery may begin, because the webhook has changed or another process may have the lease. */
  readonly isOver: boolean
  /** The time until which the lease is certainly valid, on the monotonic clock. */
  readonly leasedUntil: number
  /** True while there may be due deliveries that have not been fetched yet. */
  readonly wantsMore: boolean
  /** Returns whether every delivery that has begun has also ended and is recorded. */
  isQuiet(): boolean
  /** Returns when the queue became empty, on the monotonic clock. Undefined while it has deliveries. */
  idleSince(): number | undefined
  /** Returns whether one more message may be sent now. */
  maySend(): boolean
  /** Returns whether the next deliveries should be fetched now, before the queue is empty. */
  isHungry(): boolean
  /** Marks that there may be due deliveries that were not fetched. */
  wantMore(): void
  /**
   * Discards the fetched deliveries. They are fetched again together with a delivery that must be sent first. Also ends
   * a pause, because the caller who queued that delivery could not know of a pause that is not recorded yet.
   */
  startOver(): void
  /** Begins a fetch. Returns how many deliveries to fetch. */
  startFetch(): number
  /**
   * Ends a fetch, and adds new deliveries to the queue. Returns deliveries whose events no longer exist.
   * @param limit the number that `startFetch` returned
   */
  endFetch(found: readonly DueDelivery[], limit: number): DueDelivery[]
  /** Removes and returns the next delivery to send, or undefined if none is waiting. */
  begin(): DueDelivery | undefined
  /** Ends an attempt that will not be recorded. Its delivery can be fetched again. */
  cutOff(delivery: DueDelivery): void
  /** Ends an attempt that will be recorded. @param circuit the state of the receiver after the attempt */
  endAttempt(circuit: Circuit): void
  settle(delivery: DueDelivery): void
  /** Extends the lease after a renewal. @param askedAt when the renewal was sent, on the monotonic clock */
  renewed(askedAt: number): void
  /** Ends the use of the queue, and pauses it until `until`, in milliseconds since the Unix epoch. */
  pauseUntil(until: number): void
  /** Begins no further delivery. The lease is released when all deliveries that have begun are recorded. */
  end(): void
  /** Ends the use of this queue. Returns its unfinished deliveries, for a new lease of the same webhook. */
  handOver(): Unfinished
  state(): QueueState
}

/** The ids of unfinished deliveries. A running fetch may still return them as due. */
interface Unfinished {
  /** Deliveries that were begun but are not recorded yet. */
  begun: Set<number>
  /** Deliveries that were recorded since the current fetch began. */
  recorded: Set<number>
}

/** How long a lease is trusted after its claim was sent. This is shorter than the lease, to allow for latency. */
export const TRUSTED_MS = QUEUE_LEASE_SECONDS * 1000 - 2_000

/** The deliveries to fetch per concurrent message, so that sending need not wait for the next fetch. */
const AHEAD = 12

/**
 * @param askedAt when the claim was sent, on the monotonic clock
 * @param lapsed the queue of an expired lease of the same webhook in this process. Its unfinished deliveries are not
 * sent twice, unless the URL has changed.
 */
export function openQueue(
  claimed: ClaimedQueue,
  {
    target,
    askedAt,
    clock,
    lapsed,
  }: {
    target: Target
    askedAt: number
    clock: Pick<Time, 'now' | 'monotonic'>
    lapsed?: Queue | undefined
  },
): Queue {
  const left = lapsed?.handOver()
  const { begun, recorded }: Unfinished =
    left && lapsed?.target.url === target.url ? left : { begun: new Set(), recorded: new Set() }
  let circuit = circuitOf(claimed)
  let waiting: DueDelivery[] = []
  let running = 0
  let wantsMore = true
  /** True if a delivery that must be sent first was queued after the current fetch had begun. */
  let isOutrun = false
  let idleSince: number | undefined
  let leasedUntil = askedAt + TRUSTED_MS
  let isOver = false

  const isQuiet = () => running === 0 && begun.size === 0
  const isPaused = () => circuit.pausedUntil > clock.now()

  function end(): void {
    isOver = true
    waiting = []
  }

  return {
    id: claimed.webhook_id,
    tenantId: claimed.tenant_id,
    epoch: claimed.epoch,
    resets: claimed.resets,
    target,
    claimedAt: askedAt,
    secretsExpireAt: firstExpiryOf(claimed),
    get circuit() {
      return circuit
    },
    get waiting() {
      return waiting.length
    },
    get isOver() {
      return isOver
    },
    get leasedUntil() {
      return leasedUntil
    },
    get wantsMore() {
      return wantsMore
    },
    isQuiet,
    idleSince: () => idleSince,
    maySend: () =>
      !isOver &&
      waiting.length > 0 &&
      running < slotsNow(circuit) &&
      !isPaused() &&
      leasedUntil > clock.monotonic(),
    isHungry: () =>
      wantsMore && !isOver && !isPaused() && waiting.length < Math.floor(circuit.slots),
    wantMore() {
      wantsMore = true
    },
    startOver() {
      circuit = { ...circuit, pausedUntil: 0 }
      waiting = []
      wantsMore = true
      isOutrun = true
    },
    startFetch() {
      wantsMore = false
      isOutrun = false
      recorded.clear()
      return begun.size + waiting.length + Math.floor(circuit.slots) * AHEAD
    },
    endFetch(found, limit) {
      if (isOutrun) return []
      // The fetch returned as many deliveries as its limit, so there may be more.
      if (found.length === limit) wantsMore = true
      const queued = new Set(waiting.map(({ id }) => id))
      const fresh = found.filter(({ id }) => !begun.has(id) && !recorded.has(id) && !queued.has(id))
      if (!isOver) waiting.push(...fresh.filter((delivery) => !isLost(delivery)))
      idleSince = waiting.length > 0 ? undefined : (idleSince ?? clock.monotonic())
      return fresh.filter(isLost)
    },
    begin() {
      const delivery = waiting.shift()
      if (!delivery) return undefined
      running += 1
      begun.add(delivery.id)
      return delivery
    },
    cutOff({ id }) {
      running -= 1
      begun.delete(id)
    },
    endAttempt(after) {
      running -= 1
      circuit = after
      // Discards the fetched deliveries. They are fetched again after the pause.
      if (isPaused()) waiting = []
    },
    settle({ id }) {
      begun.delete(id)
      recorded.add(id)
      if (isQuiet() && waiting.length === 0) idleSince ??= clock.monotonic()
    },
    renewed(at) {
      leasedUntil = at + TRUSTED_MS
    },
    pauseUntil(until) {
      circuit = { ...circuit, pausedUntil: until }
      end()
    },
    end,
    handOver() {
      end()
      return { begun, recorded }
    },
    state: () => ({
      id: claimed.webhook_id,
      epoch: claimed.epoch,
      failures: circuit.failures,
      failure_share: circuit.share,
      failing_since: circuit.failing_since,
      failed_at: isoOrNull(circuit.failedAt),
      slots: Math.floor(circuit.slots),
      paused_until: isoOrNull(circuit.pausedUntil),
    }),
  }
}

const isLost = ({ resource_type }: DueDelivery) => resource_type === null

const isoOrNull = (at: number) => (at === 0 ? null : new Date(at).toISOString())

const circuitOf = (claimed: ClaimedQueue): Circuit => ({
  failures: claimed.failures,
  share: claimed.failure_share,
  failing_since: claimed.failing_since,
  failedAt: claimed.failed_at === null ? 0 : Date.parse(claimed.failed_at),
  slots: claimed.slots,
  pausedUntil: claimed.paused_until === null ? 0 : Date.parse(claimed.paused_until),
})

const firstExpiryOf = ({ secrets }: ClaimedQueue): number =>
  Math.min(
    ...secrets.map(({ expires_at: at }) =>
      at === null ? Number.POSITIVE_INFINITY : Date.parse(at),
    ),
  )
