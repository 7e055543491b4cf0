/** Works the inbox off: claims what is due of a provider, reads it, and has it applied. */
import { batcher } from '../../../lib/batcher.ts'
import { type Clock, isoAt, MINUTE, SECOND } from '../../../lib/clock.ts'
import { poller } from '../../../lib/poller.ts'
import type { Time } from '../../../lib/time.ts'
import { type Changes, isPassing, logFailures, type Scopes } from '../../../platform/db/index.ts'
import { canFail } from '../../../platform/observe/can-fail.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import type { Apply, Read, Settled } from '../applying/apply.ts'
import type { Provider, Reading } from '../payment-facts.ts'
import { type Claimed, claim, nextDue, release } from './claims.store.ts'
import { DOES_NOT_OPEN, openOrNull, type Seals, type Sent } from './sealed.ts'
import { INBOX_TOPIC } from './topics.ts'

/** Longer than any reading takes. */
export const LEASE_MS = MINUTE
export const POLL_MS = SECOND
export const MAX_TOGETHER = 200

/** Finds out what a notification says. What it throws is tried again when the lease is over. */
export type Reader = (sent: Sent, signal: AbortSignal) => Promise<Reading> | Reading

export interface WorkerDeps {
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
  read: Reader
  /** Notifications under way at the most. */
  atOnce: number
}

export interface Worker {
  /** Resolves when no notification is due, and none is being worked on. */
  idle(): Promise<void>
  stop(patienceMs: number): Promise<void>
}

/** Milliseconds until then (ISO 8601), or until the inbox is looked at in any case. */
export const msUntil = (due: string, clock: Clock) =>
  Math.min(Math.max(Date.parse(due) - clock.now(), 1), POLL_MS)

export const lookFailed = (log: Logger) => logFailures('looking for notifications', log)

export function startWorker(deps: WorkerDeps, { provider, read, atOnce }: WorkerOptions): Worker {
  const { db, clock, changes, log } = deps
  const working = new Map<Claimed, Promise<unknown>>()
  const cut = new AbortController()
  const applying = batcher<Read>(async (reads) => deps.onSettled(await deps.apply(reads)), {
    clock,
    maxItems: MAX_TOGETHER,
    onError: (error, reads) => {
      if (isPassing(error)) return 'drop'
      if (reads.length === 1) log.error({ err: error, id: reads[0]?.of?.claimed.id }, 'applying')
      return 'split'
    },
  })

  async function work(claimed: Claimed, sent: Sent | null): Promise<void> {
    const reading = sent ? await read(sent, cut.signal) : DOES_NOT_OPEN
    await applying.add({ reading, of: { claimed, sent } })
  }

  async function look(): Promise<boolean | number> {
    const room = Math.min(atOnce - working.size, MAX_TOGETHER)
    if (room <= 0 || cut.signal.aborted) return false
    const { opened, next } = await db.acrossTenants(async (tx) => {
      const lease = { now: isoAt(clock), until: isoAt(clock, LEASE_MS) }
      const claimed = await claim(tx, provider, lease, room)
      const opened: { one: Claimed; sent: Sent | null }[] = []
      for (const one of claimed) opened.push({ one, sent: await openOrNull(deps, tx, one) })
      return { opened, next: claimed.length > 0 ? null : await nextDue(tx, provider) }
    })
    for (const { one, sent } of opened) {
      const done = canFail(work(one, sent), 'working on a notification', log).finally(() => {
        working.delete(one)
        looks.wake()
      })
      working.set(one, done)
    }
    if (opened.length === room) return true
    if (next === null) return false
    return msUntil(next, clock)
  }

  const looks = poller(look, {
    clock,
    pollMs: POLL_MS,
    onError: lookFailed(log),
  })
  const unsubscribe = changes.subscribe((topic) => {
    if (topic === null || topic === INBOX_TOPIC) looks.wake()
  })

  return {
    async idle() {
      do {
        await Promise.all(working.values())
        await looks.idle()
      } while (working.size > 0)
    },
    async stop(patienceMs) {
      unsubscribe()
      await looks.stop()
      await applying.stop(patienceMs)
      cut.abort()
      const left = [...working.keys()]
      if (left.length > 0)
        await canFail(
          db.acrossTenants((tx) => release(tx, left)),
          'giving notifications back',
          log,
        )
    },
  }
}
