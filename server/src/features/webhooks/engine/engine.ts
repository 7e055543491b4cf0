/**
 * Delivers due messages: claims queues, fetches their deliveries, sends them, records the results, and releases queues
 * without due deliveries. Any number of processes can do this in parallel.
 */
import { type Poll, poller } from '../../../lib/poller.ts'
import type { Time } from '../../../lib/time.ts'
import type { KeyRing } from '../../../platform/crypto/index.ts'
import { type Changes, logFailures, type Scopes } from '../../../platform/db/index.ts'
import { canFail } from '../../../platform/observe/can-fail.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import type { SendMessage } from '../sending/attempt.ts'
import { openSendBudget } from './budget.ts'
import type { Disable } from './disable.ts'
import { type DispatcherDeps, openDispatcher } from './dispatcher.ts'
import { openLeases } from './leases.ts'
import { createPrefetch } from './prefetch.ts'
import { createResultWriter } from './result-writer.ts'
import type { Random } from './schedule.ts'
import { noticeOf } from './topics.ts'
import { TUNING, type Tuning } from './tuning.ts'

export interface EngineDeps {
  db: Scopes
  changes: Changes
  clock: Time
  keyRing: KeyRing
  send: SendMessage
  disable: Disable
  log: Logger
  onAttempt?: DispatcherDeps['onAttempt']
  random?: Random
  tuning?: Partial<Tuning>
}

export interface Engine {
  /** Resolves when all due deliveries have been sent and their results are recorded. */
  idle(): Promise<void>
  /** Starts no further message, waits up to `patienceMs` for messages in flight, and releases all queues. */
  stop(patienceMs: number): Promise<void>
}

const CLASSIFY_MS = 100
const RELEASE_MS = 100

export function startEngine(deps: EngineDeps): Engine {
  const { db, clock, log, random = Math.random } = deps
  const tuning = { ...TUNING, ...deps.tuning }
  const budget = openSendBudget(tuning, clock)
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

  const poll = (what: string, everyMs: number, work: Poll) =>
    poller(work, { clock, pollMs: everyMs, onError: logFailures(what, log) })

  const claimer = poll('claiming of webhooks', pollMs, async () => {
    const { claimed, hasMore } = await leases.claim()
    if (claimed > 0) prefetcher.wake()
    return hasMore
  })
  const prefetcher = poll('fetching of deliveries', pollMs, async () => {
    const hasMore = await prefetch()
    dispatcher.sendAll()
    return hasMore
  })
  const releaser = poll('release of webhook leases', RELEASE_MS, async () => {
    // Claims again, because there is room for other queues now, and deliveries may have become due during the release.
    if ((await leases.release()) > 0) claimer.wake()
    return false
  })
  const renewer = poll('renewal of webhook leases', tuning.heartbeatMs, async () => {
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
      // Reads the tenant's webhooks again, because the tenant may have become active or inactive.
      leases.changeTenant(notice.tenantId)
      claimer.wake()
      return
    }
    const { what, webhookId } = notice
    if (what === 'changed') leases.change(webhookId)
    const leased = webhookId === null ? undefined : leases.queues.get(webhookId)
    for (const queue of webhookId === null ? leases.queues.values() : leased ? [leased] : [])
      if (what === 'first') queue.startOver()
      else queue.wantMore()
    prefetcher.wake()
    // If this process has no lease of the queue, or its lease is over, the queue may be free for a new claim.
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
      // Ends all leases now. Queues without messages in flight can then move to other processes at once.
      for (const queue of leases.queues.values()) queue.end()
      await quiet
      await results.stop(tuning.flushTimeoutMs)
      await Promise.all([releaser.stop(), renewer.stop()])
      await canFail(leases.releaseAll(tuning.flushTimeoutMs), 'release of webhook leases', log)
    },
  }
}
