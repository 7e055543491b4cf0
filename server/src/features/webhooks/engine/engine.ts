/**
 * Delivers what is due: claims queues, fetches their deliveries, sends them, writes down how it went,
 * and lets go of queues that have nothing left. Any number of processes do so side by side.
 */
import { type Look, poller } from '../../../lib/poller.ts'
import type { Time } from '../../../lib/time.ts'
import type { KeyRing } from '../../../platform/crypto/index.ts'
import { type Changes, logFailures, type Scopes } from '../../../platform/db/index.ts'
import { canFail } from '../../../platform/observe/can-fail.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import type { Send } from '../sending/attempt.ts'
import { openBudget } from './budget.ts'
import type { Disable } from './disable.ts'
import { type DispatcherDeps, openDispatcher } from './dispatcher.ts'
import { openLeases } from './leases.ts'
import { createPrefetch } from './prefetch.ts'
import { end, startOver, wantMore } from './queue.ts'
import { createResultWriter } from './result-writer.ts'
import type { Random } from './schedule.ts'
import { noticeOf } from './topics.ts'
import { TUNING, type Tuning } from './tuning.ts'

export interface EngineDeps {
  db: Scopes
  changes: Changes
  clock: Time
  keyRing: KeyRing
  send: Send
  disable: Disable
  log: Logger
  onAttempt?: DispatcherDeps['onAttempt']
  random?: Random
  tuning?: Partial<Tuning>
}

export interface Engine {
  /** Resolves when nothing that is due is left to send, and every result is written down. */
  idle(): Promise<void>
  /** Begins nothing more, waits up to `patienceMs` for what is under way, and lets go of all queues. */
  stop(patienceMs: number): Promise<void>
}

const CLASSIFY_MS = 100
const RELEASE_MS = 100

export function startEngine(deps: EngineDeps): Engine {
  const { db, clock, log, random = Math.random } = deps
  const tuning = { ...TUNING, ...deps.tuning }
  const budget = openBudget(tuning, clock)
  const leases = openLeases({ ...deps, tuning, budget })
  const results = createResultWriter(db, clock, log)
  const prefetch = createPrefetch({ ...deps, leases })
  const dispatcher = openDispatcher({
    ...deps,
    random,
    leases,
    budget,
    results,
    onHungry: () => prefetcher.wake(),
  })
  const { pollMs } = tuning

  const poll = (what: string, everyMs: number, look: Look) =>
    poller(look, { clock, pollMs: everyMs, onError: logFailures(what, log) })

  const claimer = poll('claiming webhooks', pollMs, async () => {
    const { claimed, hasMore } = await leases.claim()
    if (claimed > 0) prefetcher.wake()
    return hasMore
  })
  const prefetcher = poll('fetching deliveries', pollMs, async () => {
    const hasMore = await prefetch()
    dispatcher.sendAll()
    return hasMore
  })
  const releaser = poll('letting go of webhooks', RELEASE_MS, async () => {
    // There may be room for others, or something came while it was let go of.
    if ((await leases.release()) > 0) claimer.wake()
    return false
  })
  const renewer = poll('renewing the leases of webhooks', tuning.heartbeatMs, async () => {
    await leases.renew()
    return false
  })
  const endClassifying = clock.every(CLASSIFY_MS, () => {
    if (budget.classify()) dispatcher.sendAll()
  })
  const unsubscribe = deps.changes.subscribe(onTopic)

  function onTopic(topic: string | null): void {
    const notice = noticeOf(topic)
    if (!notice) return
    if (notice.what === 'tenant') {
      // It may be active again, or not any more.
      leases.changeTenant(notice.tenantId)
      claimer.wake()
      return
    }
    const { what, webhookId } = notice
    if (what === 'changed') leases.change(webhookId)
    const leased = webhookId === null ? undefined : leases.queues.get(webhookId)
    for (const queue of webhookId === null ? leases.queues.values() : leased ? [leased] : [])
      (what === 'first' ? startOver : wantMore)(queue)
    prefetcher.wake()
    // One that is over may have been made free for a new claim.
    if (!leased || leased.isOver) claimer.wake()
  }

  return {
    async idle() {
      let before: number
      do {
        before = dispatcher.begun()
        await claimer.idle()
        await prefetcher.idle()
        await dispatcher.idle()
        await results.idle()
        await leases.idle()
      } while (dispatcher.begun() > before)
    },
    async stop(patienceMs) {
      unsubscribe()
      endClassifying()
      const quiet = dispatcher.stop(patienceMs)
      await Promise.all([claimer.stop(), prefetcher.stop()])
      // Those that are quiet are let go of at once, for other processes to go on with.
      for (const queue of leases.queues.values()) end(queue)
      await quiet
      await results.stop(tuning.flushTimeoutMs)
      await Promise.all([releaser.stop(), renewer.stop()])
      await canFail(leases.releaseAll(tuning.flushTimeoutMs), 'letting go of webhooks', log)
    },
  }
}
