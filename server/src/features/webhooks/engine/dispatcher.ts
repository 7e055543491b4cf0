/** Sends waiting deliveries concurrently, within the limits of queues and budget, and records each result. */
import type { Time } from '../../../lib/time.ts'
import type { Changes } from '../../../platform/db/index.ts'
import { canFail } from '../../../platform/observe/can-fail.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import type { SendMessage } from '../sending/attempt.ts'
import type { SendBudget } from './budget.ts'
import { type Classified, classifyAttempt } from './classify.ts'
import type { DeliveryOutcome, DueDelivery } from './deliveries.store.ts'
import type { Disable } from './disable.ts'
import type { Leases } from './leases.ts'
import type { Queue } from './queue.ts'
import type { ResultWriter } from './result-writer.ts'
import type { Random } from './schedule.ts'

export interface DispatcherDeps {
  changes: Pick<Changes, 'isInMaintenance'>
  clock: Time
  send: SendMessage
  disable: Disable
  log: Logger
  random: Random
  leases: Leases
  budget: SendBudget
  results: ResultWriter
  onAttempt?: ((outcome: 'delivered' | 'retried' | 'failed', seconds: number) => void) | undefined
  /** Called when a queue needs more deliveries. */
  onHungry: () => void
}

export interface Dispatcher {
  /** Starts as many messages as the queues and the budget allow, taking turns between tenants. */
  sendAll(): void
  /** Returns how many messages this process has started so far. */
  begun(): number
  /** Resolves when no message is in flight and no webhook is being deactivated. */
  idle(): Promise<void>
  /** Starts no further message, and waits for messages in flight. Aborts them after `patienceMs`. */
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

  /** Returns whether the queue may send now. Nothing is sent for a tenant in maintenance mode. */
  const mayBegin = (queue: Queue) =>
    queue.maySend() && !deps.changes.isInMaintenance(queue.tenantId)

  function sendAll(): void {
    if (isStopping) return
    const ready = new Set([...leases.queues.values()].filter((queue) => mayBegin(queue)))
    while (ready.size > 0 && budget.hasRoom()) {
      const queue = budget.next(ready)
      if (!queue) return
      sendNext(queue)
      ready.delete(queue)
      // Adds the queue again at the end, so that queues take turns.
      if (mayBegin(queue)) ready.add(queue)
    }
  }

  /** Sends waiting deliveries of one queue while the budget has room. */
  function sendFrom(queue: Queue): void {
    while (!isStopping && budget.hasRoom() && mayBegin(queue)) sendNext(queue)
  }

  function sendNext(queue: Queue): void {
    const delivery = queue.begin()
    if (!delivery) return
    running += 1
    begun += 1
    const leave = budget.begin(queue)
    void trySending(queue, delivery).then((classified) => {
      const wasFull = !budget.hasRoom()
      running -= 1
      leave()
      if (classified) settle(queue, classified)
      else queue.cutOff(delivery)
      if (queue.isHungry()) deps.onHungry()
      if (wasFull) sendAll()
      else sendFrom(queue)
      if (running === 0) for (const resolve of awaitingIdle.splice(0)) resolve()
    })
  }

  /** Returns the classified attempt, or undefined if the attempt was aborted or an internal error occurred. */
  async function trySending(queue: Queue, delivery: DueDelivery): Promise<Classified | undefined> {
    try {
      const { event: action, resource_type } = delivery
      // Deliveries without a journal entry never enter the queue, so `resource_type` is not null here.
      const entry = { ...delivery, action, resource_type: resource_type ?? '' }
      const attempt = await deps.send(queue.target, entry, cut.signal)
      // An aborted attempt does not concern the receiver. The message is sent again later.
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
      leases.fail(queue, 'creating a message failed', error)
      return undefined
    }
  }

  function settle(queue: Queue, classified: Classified): void {
    const { circuit, disable, outcome } = classified
    const wasFailing = isFailing(queue)
    const { attempt, status } = outcome
    queue.endAttempt(circuit)
    deps.onAttempt?.(status === 'pending' ? 'retried' : status, attempt.duration_ms / 1000)
    // Logs successes at debug level only, because there may be thousands of them a second.
    log[attempt.error === null ? 'debug' : 'info'](describe(outcome), 'webhook attempt')
    void record(queue, outcome)
    if (disable) {
      queue.end()
      const { id, tenantId: tenant_id, target, resets } = queue
      const since = circuit.failing_since ?? attempt.started_at
      const webhook = { id, tenant_id, url: target.url, resets, reason: disable, since }
      // Deactivates one webhook at a time, because an outage of our own network makes many receivers fail at once.
      disabling = disabling.then(() =>
        canFail(deps.disable(webhook), 'deactivation of a webhook', log),
      )
    } else if (wasFailing !== isFailing(queue)) leases.save(queue)
  }

  async function record(queue: Queue, outcome: DeliveryOutcome): Promise<void> {
    const isWritten = await results.add({ ...outcome, resets: queue.resets }).then(
      () => true,
      () => false,
    )
    queue.settle(outcome.delivery)
    if (!isWritten) leases.fail(queue, 'recording a delivery failed')
    if (queue.isHungry()) deps.onHungry()
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
      // An aborted message has no result. The message is sent again later with the same id.
      const cancel = clock.after(patienceMs, () => cut.abort())
      await idle()
      cancel()
    },
  }
}

const isFailing = ({ circuit }: Queue) => circuit.failures > 0 || circuit.failing_since !== null

/** Returns the log fields of an attempt, without the response and without the URL, which may contain a secret. */
function describe({ delivery, attempt, status }: DeliveryOutcome) {
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
