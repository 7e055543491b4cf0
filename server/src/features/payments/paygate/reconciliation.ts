/**
 * Fetches payments whose notices may have been lost. Reads paygate's list, beginning an hour before the last completed
 * run, and applies its payments like notices. Known payments stay unchanged, so an interrupted run can be repeated.
 */
import { DAY, HOUR, MINUTE, SECOND } from '../../../lib/clock.ts'
import { poller } from '../../../lib/poller.ts'
import type { Scopes } from '../../../platform/db/index.ts'
import type { Background } from '../../../platform/feature/feature.ts'
import type { Apply, Read } from '../applying/apply.ts'
import type { PaymentReading } from '../payment-facts.ts'
import { isName, isObject } from '../provider-json.ts'
import type { PaygateApi } from './api.ts'
import { paygateReadingOf } from './payment.ts'
import * as store from './reconciliation.store.ts'
import { openUnusable, type Unusable, type UnusableDeps } from './unusable.ts'

const PROVIDER = 'paygate'
/** The overlap of the periods of two runs. It covers lists that lag and clocks that differ. */
const OVERLAP_MS = HOUR
/** The period of the first run. It equals the time for which notices are stored while paygate is not configured. */
const FIRST_SPAN_MS = 7 * DAY
/** The duration of a run's lease. It is longer than applying a page takes. */
const LEASE_MS = 2 * MINUTE
const FIRST_PAUSE_MS = MINUTE
const POLL_MS = 2 * SECOND
/** The maximum number of pages in a run. They contain a million payments. A longer list is an error of the provider. */
const MAX_PAGES = 10_000
const MAX_CURSOR = 1024

export interface ReconciliationDeps extends UnusableDeps {
  db: Scopes
  api: PaygateApi
  apply: Apply
  /** The time between runs in milliseconds, from `PAYGATE_RECONCILE_MINUTES`. */
  everyMs: number
}

/** Starts reconciling at startup and then periodically, on one node at a time. */
export function startReconciliation(deps: ReconciliationDeps): Background {
  const { db, log, everyMs } = deps
  const cut = new AbortController()
  let isArmed = false

  const lease: store.ReconciliationLease = {
    holds: LEASE_MS,
    latest: { due: everyMs + OVERLAP_MS, leased: LEASE_MS + OVERLAP_MS },
  }

  async function poll(): Promise<boolean> {
    const run = await db.acrossTenants(async (tx) => {
      if (!isArmed) await store.scheduleReconciliation(tx, PROVIDER)
      return store.claimReconciliation(tx, PROVIDER, lease)
    })
    isArmed = true
    if (run) await reconcile(deps, run, cut.signal)
    return false
  }

  const polling = poller(poll, {
    clock: db.clock,
    pollMs: POLL_MS,
    onError: (error, previous) => {
      if (!previous) log.warn({ err: error }, 'payment reconciliation failed')
    },
  })
  return {
    idle: polling.idle,
    stop() {
      cut.abort()
      return polling.stop()
    },
  }
}

async function reconcile(
  deps: ReconciliationDeps,
  run: store.Run,
  signal: AbortSignal,
): Promise<void> {
  const { db, log, everyMs } = deps
  const end = await readAll(deps, run, signal)
  if (end === 'overtaken') return
  const isDone = end === 'done'
  // An aborted run does not count as a failure. Another node can repeat it at once.
  const failures = isDone ? 0 : run.failures + (signal.aborted ? 0 : 1)
  const pause = isDone ? everyMs : pauseAfter(failures, everyMs)
  await db.acrossTenants((tx) =>
    store.finishReconciliation(tx, run, {
      reconciled_to: isDone ? run.began_at : null,
      pause: signal.aborted ? 0 : pause,
      failures,
      is_refused: end === 'refused',
    }),
  )
  if (!isDone && !signal.aborted)
    log.warn({ provider: PROVIDER, failures }, 'payment reconciliation incomplete')
}

const pauseAfter = (failures: number, most: number) =>
  Math.min(FIRST_PAUSE_MS * 2 ** Math.min(failures - 1, 20), most)

async function readAll(
  deps: ReconciliationDeps,
  run: store.Run,
  signal: AbortSignal,
): Promise<'done' | 'failed' | 'refused' | 'overtaken'> {
  const { db, log, api } = deps
  const since = sinceOf(run)
  const cursors = new Set<string | null>()
  const unusable = openUnusable(PROVIDER, deps)
  let cursor: string | null = null
  let payments = 0
  while (cursors.size < MAX_PAGES) {
    cursors.add(cursor)
    const answer = await api.payments(since, cursor, signal)
    if (answer.is === 'refused') return 'refused'
    if (answer.is !== 'said' || !Array.isArray(answer.object.items)) return 'failed'
    const { items, next_cursor } = answer.object
    payments += items.length
    await unusable.note(await applyPage(deps, items, answer.askedAt))
    if (!(await db.acrossTenants((tx) => store.renewReconciliation(tx, run, LEASE_MS))))
      return 'overtaken'
    if (next_cursor === undefined || next_cursor === null) {
      log.info(
        { provider: PROVIDER, pages: cursors.size, payments },
        'payment reconciliation completed',
      )
      return unusable.end() ? 'done' : 'failed'
    }
    if (!isName(next_cursor, MAX_CURSOR) || cursors.has(next_cursor)) return 'failed'
    cursor = next_cursor
  }
  return 'failed'
}

/** Returns the start of the period to read. Ignores a stored position in the future, which a wrong clock wrote. */
function sinceOf({ began_at, reconciled_to }: store.Run): string {
  const isKnown = reconciled_to !== null && reconciled_to <= began_at
  return isKnown ? earlier(reconciled_to, OVERLAP_MS) : earlier(began_at, FIRST_SPAN_MS)
}

const earlier = (time: string, ms: number) => new Date(Date.parse(time) - ms).toISOString()

/** Applies the items of a page. Returns the items that cannot be applied. */
async function applyPage(
  { apply }: ReconciliationDeps,
  items: readonly unknown[],
  saidAt: number,
): Promise<Unusable[]> {
  const unusable: Unusable[] = []
  const itemOf = new Map<Read, unknown>()
  for (const item of items) {
    const reading: PaymentReading = isObject(item) ? paygateReadingOf(item, saidAt) : UNREADABLE
    if (reading.is === 'failed') unusable.push({ item, reason: reading.reason })
    else itemOf.set({ reading, of: null }, item)
  }
  let left = [...itemOf.keys()]
  // Makes two passes, because the first pass skips payments that another node has just inserted.
  for (let pass = 0; pass < 2 && left.length > 0; pass += 1) {
    const settled = await apply(left)
    for (const { read, reason } of settled)
      if (reason !== null) unusable.push({ item: itemOf.get(read), reason })
    left = settled.flatMap(({ read, state }) => (state === 'received' ? read : []))
  }
  return unusable
}

const UNREADABLE: PaymentReading = { is: 'failed', reason: 'unreadable' }
