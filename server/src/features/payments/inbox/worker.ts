/** Processes the inbox of one provider: claims due notifications, reads them and applies the readings. */
import { batcher } from '../../../lib/batcher.ts'
import { type Clock, isoAt, MINUTE, SECOND } from '../../../lib/clock.ts'
import { poller } from '../../../lib/poller.ts'
import type { Time } from '../../../lib/time.ts'
import { type Changes, isPassing, logFailures, type Scopes } from '../../../platform/db/index.ts'
import { canFail } from '../../../platform/observe/can-fail.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import type { Apply, Read, Settled } from '../applying/apply.ts'
import type { PaymentReading, Provider } from '../payment-facts.ts'
import { INBOX_TOPIC } from '../payments.table.ts'
import { type Claimed, claimNotifications, nextDue, releaseNotifications } from './claims.store.ts'
import { DOES_NOT_OPEN, openOrNull, type Seals, type SentNotification } from './sealed.ts'

/** The duration of a notification's lease in milliseconds. It is longer than any reading takes. */
export const LEASE_MS = MINUTE
export const POLL_MS = SECOND
export const MAX_TOGETHER = 200

/** Reads a notification. If the function throws, the notification is retried after its lease has ended. */
export type NotificationReader = (
  sent: SentNotification,
  signal: AbortSignal,
) => Promise<PaymentReading> | PaymentReading

export interface InboxWorkerDeps {
  db: Scopes
  clock: Time
  changes: Changes
  log: Logger
  seals: Seals
  apply: Apply
  onSettled(settled: readonly Settled[]): void
}

export interface WorkerOptions {
  provider: Provider
  read: NotificationReader
  /** The maximum number of notifications that a node processes concurrently. */
  atOnce: number
}

export interface InboxWorker {
  /** Resolves when no notification is due or being processed. */
  idle(): Promise<void>
  stop(patienceMs: number): Promise<void>
}

/** Returns the milliseconds until `due` (ISO 8601), but at most the regular poll interval. */
export const msUntil = (due: string, clock: Clock) =>
  Math.min(Math.max(Date.parse(due) - clock.now(), 1), POLL_MS)

export const logPollFailures = (log: Logger) => logFailures('polling of payment notifications', log)

export function startInboxWorker(
  deps: InboxWorkerDeps,
  { provider, read, atOnce }: WorkerOptions,
): InboxWorker {
  const { db, clock, changes, log } = deps
  const working = new Map<Claimed, Promise<unknown>>()
  const cut = new AbortController()
  const applying = batcher<Read>(async (reads) => deps.onSettled(await deps.apply(reads)), {
    clock,
    maxItems: MAX_TOGETHER,
    onError: (error, reads) => {
      if (isPassing(error)) return 'drop'
      if (reads.length === 1)
        log.error(
          { err: error, id: reads[0]?.of?.claimed.id },
          'applying of payment notifications failed',
        )
      return 'split'
    },
  })

  async function work(claimed: Claimed, sent: SentNotification | null): Promise<void> {
    const reading = sent ? await read(sent, cut.signal) : DOES_NOT_OPEN
    await applying.add({ reading, of: { claimed, sent } })
  }

  async function poll(): Promise<boolean | number> {
    const room = Math.min(atOnce - working.size, MAX_TOGETHER)
    if (room <= 0 || cut.signal.aborted) return false
    const { opened, next } = await db.acrossTenants(async (tx) => {
      const lease = { now: isoAt(clock), until: isoAt(clock, LEASE_MS) }
      const claimed = await claimNotifications(tx, provider, lease, room)
      const opened: { one: Claimed; sent: SentNotification | null }[] = []
      for (const one of claimed) opened.push({ one, sent: await openOrNull(deps, tx, one) })
      return { opened, next: claimed.length > 0 ? null : await nextDue(tx, provider) }
    })
    for (const { one, sent } of opened) {
      const done = canFail(work(one, sent), 'processing of a payment notification', log).finally(
        () => {
          working.delete(one)
          polling.wake()
        },
      )
      working.set(one, done)
    }
    if (opened.length === room) return true
    if (next === null) return false
    return msUntil(next, clock)
  }

  const polling = poller(poll, {
    clock,
    pollMs: POLL_MS,
    onError: logPollFailures(log),
  })
  const unsubscribe = changes.subscribe((topic) => {
    if (topic === null || topic === INBOX_TOPIC) polling.wake()
  })

  return {
    async idle() {
      do {
        await Promise.all(working.values())
        await polling.idle()
      } while (working.size > 0)
    },
    async stop(patienceMs) {
      unsubscribe()
      await polling.stop()
      await applying.stop(patienceMs)
      cut.abort()
      const left = [...working.keys()]
      if (left.length > 0)
        await canFail(
          db.acrossTenants((tx) => releaseNotifications(tx, left)),
          'release of payment notifications',
          log,
        )
    },
  }
}
