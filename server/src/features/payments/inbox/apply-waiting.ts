/**
 * Processes notifications that can be read without querying the provider. Each batch is locked, read and applied in one
 * transaction. If the transaction fails, any node can process the batch at once.
 */
import { isoAt } from '../../../lib/clock.ts'
import { poller } from '../../../lib/poller.ts'
import { isPassing, type TenantTx } from '../../../platform/db/index.ts'
import { canFail } from '../../../platform/observe/can-fail.ts'
import { applierIn, type Read } from '../applying/apply.ts'
import type { PaymentReading, Provider } from '../payment-facts.ts'
import { INBOX_TOPIC } from '../payments.table.ts'
import { type Claimed, claimNotifications, lockDue, nextDue } from './claims.store.ts'
import { DOES_NOT_OPEN, openOrNull, type SentNotification } from './sealed.ts'
import {
  type InboxWorker,
  type InboxWorkerDeps,
  LEASE_MS,
  logPollFailures,
  MAX_TOGETHER,
  msUntil,
  POLL_MS,
} from './worker.ts'

/** Collects notifications for a batch. Most of the cost is per transaction, so larger batches are cheaper. */
const GAP_MS = 15

export function startDrain(
  deps: InboxWorkerDeps,
  provider: Provider,
  read: (sent: SentNotification) => PaymentReading,
): InboxWorker {
  const { db, clock, changes, log } = deps
  const applyIn = applierIn(deps)

  async function readAll(tx: TenantTx, claimed: readonly Claimed[]): Promise<Read[]> {
    const reads: Read[] = []
    for (const one of claimed) {
      const sent = await openOrNull(deps, tx, one)
      reads.push({ reading: sent ? read(sent) : DOES_NOT_OPEN, of: { claimed: one, sent } })
    }
    return reads
  }

  async function together(): Promise<boolean | number> {
    const { settled, next } = await db.acrossTenants(async (tx) => {
      const due = await lockDue(tx, provider, isoAt(clock), MAX_TOGETHER)
      if (due.length === 0) return { settled: [], next: await nextDue(tx, provider) }
      return { settled: await applyIn(tx, await readAll(tx, due)), next: null }
    })
    deps.onSettled(settled)
    if (next !== null) return msUntil(next, clock)
    if (settled.length === 0) return false
    return settled.length === MAX_TOGETHER || GAP_MS
  }

  /**
   * Processes each notification under its own lease. A notification that fails waits until its lease ends, and does not
   * block others.
   */
  async function oneByOne(): Promise<boolean> {
    const lease = { now: isoAt(clock), until: isoAt(clock, LEASE_MS) }
    const claimed = await db.acrossTenants((tx) =>
      claimNotifications(tx, provider, lease, MAX_TOGETHER),
    )
    for (const one of claimed) {
      const applied = async () =>
        deps.apply(await db.acrossTenants((tx) => readAll(tx, [one]), 'read'))
      deps.onSettled(
        (await canFail(applied(), `processing of payment notification ${one.id}`, log)) ?? [],
      )
    }
    return claimed.length > 0
  }

  const polling = poller(
    async () => {
      try {
        return await together()
      } catch (error) {
        if (isPassing(error)) throw error
        log.warn(
          { err: error, provider },
          'processing of payment notifications failed; retrying them one by one',
        )
        return oneByOne()
      }
    },
    { clock, pollMs: POLL_MS, minGapMs: GAP_MS, onError: logPollFailures(log) },
  )
  const unsubscribe = changes.subscribe((topic) => {
    if (topic === null || topic === INBOX_TOPIC) polling.wake()
  })

  return {
    idle: polling.idle,
    async stop() {
      unsubscribe()
      await polling.stop()
    },
  }
}
