/** A lane as the process that holds it knows it: what waits to be sent, what is under way, how it does. */
import { performance } from 'node:perf_hooks'
import type { Target } from '../sending/attempt.ts'
import { type ClaimedLane, type LaneState, LEASE_SECONDS } from './claims.store.ts'
import type { DueDelivery } from './deliveries.store.ts'
import type { Health } from './health.ts'

export interface Lane {
  readonly id: number
  readonly tenantId: number
  readonly epoch: number
  readonly target: Target
  readonly claimedAt: number
  /** When the first of its secrets expires, in milliseconds since the Unix epoch. */
  readonly staleAt: number
  health: Health
  /** Fetched and not begun. */
  queue: DueDelivery[]
  /** Under way. */
  running: number
  /** Begun and not written down yet, so that they are not fetched a second time. */
  open: Set<number>
  /** Written down since the fetch that is under way began: it may still see them as they were. */
  closed: Set<number>
  /** Whether there may be due deliveries that are not fetched. */
  wantsMore: boolean
  /** Since when it has had nothing to do; what comes within a moment needs no new claim. */
  idleSince: number | undefined
  /** Until when the lease is sure to hold. */
  heldUntil: number
  /** Whether the webhook has changed since it was claimed: what fails may be the old one's fault. */
  isOutdated: boolean
  /** Whether nothing more is begun: the webhook has changed, or the lease is somebody else's. */
  isOver: boolean
}

/** A lease is trusted for this long after it was asked for: less than it lasts, for the way there. */
export const TRUSTED_MS = LEASE_SECONDS * 1000 - 2_000

/** @param askedAt when the claim was sent, by `performance.now()` */
export function openLane(claimed: ClaimedLane, target: Target, askedAt: number): Lane {
  return {
    id: claimed.webhook_id,
    tenantId: claimed.tenant_id,
    epoch: claimed.epoch,
    target,
    claimedAt: askedAt,
    staleAt: Math.min(
      ...claimed.secrets.map(({ expires_at: at }) =>
        at === null ? Number.POSITIVE_INFINITY : Date.parse(at),
      ),
    ),
    health: {
      failures: claimed.failures,
      failing_since: claimed.failing_since,
      failedAt: claimed.failed_at === null ? 0 : Date.parse(claimed.failed_at),
      slots: claimed.slots,
      pausedUntil: claimed.paused_until === null ? 0 : Date.parse(claimed.paused_until),
    },
    queue: [],
    running: 0,
    open: new Set(),
    closed: new Set(),
    wantsMore: true,
    idleSince: undefined,
    heldUntil: askedAt + TRUSTED_MS,
    isOutdated: false,
    isOver: false,
  }
}

/** Whether one more message may go out now. */
export function maySend(lane: Lane, now: number): boolean {
  return (
    !lane.isOver &&
    lane.queue.length > 0 &&
    lane.running < Math.floor(lane.health.slots) &&
    lane.health.pausedUntil <= now &&
    lane.heldUntil > performance.now()
  )
}

/** Whether its next deliveries should be fetched, before it runs dry. */
export function isHungry(lane: Lane, now: number): boolean {
  return (
    lane.wantsMore &&
    !lane.isOver &&
    lane.health.pausedUntil <= now &&
    lane.queue.length < Math.floor(lane.health.slots)
  )
}

/** Begins nothing more in the lane; it is let go of once quiet. */
export function end(lane: Lane): void {
  lane.isOver = true
  lane.queue = []
}

/** Whether all that was begun has ended and is written down. */
export function isQuiet(lane: Lane): boolean {
  return lane.running === 0 && lane.open.size === 0
}

export function stateOf({ id, epoch, health }: Lane): LaneState {
  return {
    id,
    epoch,
    failures: health.failures,
    failing_since: health.failing_since,
    failed_at: health.failedAt === 0 ? null : new Date(health.failedAt).toISOString(),
    slots: Math.floor(health.slots),
    paused_until: health.pausedUntil === 0 ? null : new Date(health.pausedUntil).toISOString(),
  }
}
