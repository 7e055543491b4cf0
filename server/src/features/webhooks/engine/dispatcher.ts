/** Sends what waits in the queues, as many at once as they and the budget allow, and settles each try. */
import type { Time } from '../../../lib/time.ts'
import type { Changes } from '../../../platform/db/index.ts'
import { canFail } from '../../../platform/observe/can-fail.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import type { Send } from '../sending/attempt.ts'
import type { Budget } from './budget.ts'
import { type Classified, classifyAttempt } from './classify.ts'
import type { DueDelivery, Outcome } from './deliveries.store.ts'
import type { Disable } from './disable.ts'
import type { Leases } from './leases.ts'
import { begin, cutOff, end, ended, isHungry, maySend, type Queue, settled } from './queue.ts'
import type { ResultWriter } from './result-writer.ts'
import type { Random } from './schedule.ts'

export interface DispatcherDeps {
  changes: Pick<Changes, 'isClosed'>
  clock: Time
  send: Send
  disable: Disable
  log: Logger
  random: Random
  leases: Leases
  budget: Budget
  results: ResultWriter
  /** Called for every try that was made. */
  onAttempt?: ((outcome: 'delivered' | 'retried' | 'failed', seconds: number) => void) | undefined
  /** Called when a queue should be fetched for. */
  onHungry: () => void
}

export interface Dispatcher {
  /** Begins as many messages as queues and budget allow, by turns. */
  sendAll(): void
  /** How many messages were begun so far. */
  begun(): number
  /** Resolves when none is under way, and no webhook is being deactivated. */
  idle(): Promise<void>
  /** Begins nothing more, and waits for what is under way; after `patienceMs` it is cut off. */
  stop(patienceMs: number): Promise<void>
}

export function openDispatcher(deps: DispatcherDeps): Dispatcher {
  const { clock, log, leases, budget, results } = deps
  const cut = new AbortController()
  let isStopping = false
  let running = 0
  let begun = 0
  let disabling: Promise<void> = Promise.resolve()
  const awaitingIdle: (() => void)[] = []

  /** What is being restored rests: nobody is to hear of it meanwhile. */
  const mayBegin = (queue: Queue) => maySend(queue, clock) && !deps.changes.isClosed(queue.tenantId)

  function sendAll(): void {
    if (isStopping) return
    const ready = new Set([...leases.queues.values()].filter((queue) => mayBegin(queue)))
    while (ready.size > 0 && budget.hasRoom()) {
      const queue = budget.next(ready)
      if (!queue) return
      sendNext(queue)
      ready.delete(queue)
      // Behind the others again.
      if (mayBegin(queue)) ready.add(queue)
    }
  }

  /** As `sendAll`, for one queue while there is room for everybody. */
  function sendFrom(queue: Queue): void {
    while (!isStopping && budget.hasRoom() && mayBegin(queue)) sendNext(queue)
  }

  function sendNext(queue: Queue): void {
    const delivery = begin(queue)
    if (!delivery) return
    running += 1
    begun += 1
    const leave = budget.begin(queue)
    void trySending(queue, delivery).then((classified) => {
      const wasFull = !budget.hasRoom()
      running -= 1
      leave()
      if (classified) settle(queue, classified)
      else cutOff(queue, delivery)
      if (isHungry(queue, clock.now())) deps.onHungry()
      if (wasFull) sendAll()
      else sendFrom(queue)
      if (running === 0) for (const resolve of awaitingIdle.splice(0)) resolve()
    })
  }

  /** Returns how it went; undefined when it was cut off, or failed by a fault of ours. */
  async function trySending(queue: Queue, delivery: DueDelivery): Promise<Classified | undefined> {
    try {
      const { event: action, resource_type } = delivery
      // The prefetcher passes on only what has its entry.
      const entry = { ...delivery, action, resource_type: resource_type ?? '' }
      const attempt = await deps.send(queue.target, entry, cut.signal)
      // It says nothing about the receiver, and is sent again.
      if (attempt.error === 'aborted') return undefined
      const now = clock.now()
      return classifyAttempt({
        delivery,
        attempt,
        circuit: queue.circuit,
        now,
        random: deps.random,
      })
    } catch (error) {
      leases.fail(queue, 'a message could not be made', error)
      return undefined
    }
  }

  function settle(queue: Queue, classified: Classified): void {
    const { circuit, disable, outcome } = classified
    const wasFailing = isFailing(queue)
    const { attempt, status } = outcome
    ended(queue, circuit, clock.now())
    deps.onAttempt?.(status === 'pending' ? 'retried' : status, attempt.duration_ms / 1000)
    // What went well stands in the list of deliveries: of thousands a second the log need not tell.
    log[attempt.error === null ? 'debug' : 'info'](describe(outcome), 'webhook attempt')
    void record(queue, outcome)
    if (disable) {
      end(queue)
      const { id, tenantId: tenant_id, target, resets } = queue
      const since = circuit.failing_since ?? attempt.started_at
      const webhook = { id, tenant_id, url: target.url, resets, reason: disable, since }
      // One after the other: when our own network fails, many receivers do at once.
      disabling = disabling.then(() =>
        canFail(deps.disable(webhook), 'deactivating a webhook', log),
      )
    } else if (wasFailing !== isFailing(queue)) leases.save(queue)
  }

  async function record(queue: Queue, outcome: Outcome): Promise<void> {
    const isWritten = await results.add({ ...outcome, resets: queue.resets }).then(
      () => true,
      () => false,
    )
    settled(queue, outcome.delivery, clock)
    if (!isWritten) leases.fail(queue, 'what it was sent could not be written down')
    if (isHungry(queue, clock.now())) deps.onHungry()
  }

  async function idle(): Promise<void> {
    if (running > 0) await new Promise<void>((resolve) => void awaitingIdle.push(resolve))
    await disabling
  }

  return {
    sendAll,
    begun: () => begun,
    idle,
    async stop(patienceMs) {
      isStopping = true
      // What is cut off has no outcome: it is sent again, with the same id.
      const cancel = clock.after(patienceMs, () => cut.abort())
      await idle()
      cancel()
    },
  }
}

const isFailing = ({ circuit }: Queue) => circuit.failures > 0 || circuit.failing_since !== null

/** The log's line of a try: no URL, which may hold a secret, and nothing of the answer. */
function describe({ delivery, attempt, status }: Outcome) {
  return {
    webhook_id: delivery.webhook_id,
    tenant_id: delivery.tenant_id,
    event: delivery.event,
    entry_id: delivery.id,
    attempt: delivery.attempts + 1,
    status_code: attempt.status_code,
    error: attempt.error,
    address: attempt.address,
    ms: attempt.duration_ms,
    outcome: status,
  }
}
