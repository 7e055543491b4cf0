/**
 * Asks paygate for the payments whose notices may have been missed. Its list is read from the last good
 * run on, less an hour, and applied as notices are; so what is known already changes nothing, and a run
 * that dies is simply made again.
 */
import { DAY, HOUR, MINUTE, SECOND } from '../../../lib/clock.ts'
import { poller } from '../../../lib/poller.ts'
import type { Scopes } from '../../../platform/db/index.ts'
import type { Background } from '../../../platform/feature.ts'
import type { Apply, Read } from '../applying/apply.ts'
import type { Reading } from '../payment-facts.ts'
import { isName, isObject } from '../provider-json.ts'
import type { PaygateApi } from './api.ts'
import { readingOf } from './payment.ts'
import * as store from './reconciliation.store.ts'
import { openUnusable, type Unusable, type UnusableDeps } from './unusable.ts'

const PROVIDER = 'paygate'
/** For lists that lag, and for clocks that differ. */
const OVERLAP_MS = HOUR
/** How far the first run reaches back: as long as notices are kept that came while it was unconfigured. */
const FIRST_SPAN_MS = 7 * DAY
/** Longer than a page takes. */
const LEASE_MS = 2 * MINUTE
const FIRST_PAUSE_MS = MINUTE
const POLL_MS = 2 * SECOND
/** A million payments; a list without an end is a fault of the provider's. */
const MAX_PAGES = 10_000
const MAX_CURSOR = 1024

export interface ReconciliationDeps extends UnusableDeps {
  db: Scopes
  api: PaygateApi
  apply: Apply
  /** `PAYGATE_RECONCILE_MINUTES`, in milliseconds. */
  everyMs: number
}

/** Reconciles at once, and then every so often; one node at a time. */
export function startReconciliation(deps: ReconciliationDeps): Background {
  const { db, log, everyMs } = deps
  const cut = new AbortController()
  let isArmed = false

  const lease: store.Lease = {
    holds: LEASE_MS,
    latest: { due: everyMs + OVERLAP_MS, leased: LEASE_MS + OVERLAP_MS },
  }

  async function look(): Promise<boolean> {
    const run = await db.acrossTenants(async (tx) => {
      if (!isArmed) await store.arm(tx, PROVIDER)
      return store.claim(tx, PROVIDER, lease)
    })
    isArmed = true
    if (run) await reconcile(deps, run, cut.signal)
    return false
  }

  const looks = poller(look, {
    clock: db.clock,
    pollMs: POLL_MS,
    onError: (error, previous) => {
      if (!previous) log.warn({ err: error }, 'reconciling payments failed')
    },
  })
  return {
    idle: looks.idle,
    stop() {
      cut.abort()
      return looks.stop()
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
  // What was called off is for another node, at once.
  const failures = isDone ? 0 : run.failures + (signal.aborted ? 0 : 1)
  const pause = isDone ? everyMs : pauseAfter(failures, everyMs)
  await db.acrossTenants((tx) =>
    store.finish(tx, run, {
      reconciled_to: isDone ? run.began_at : null,
      pause: signal.aborted ? 0 : pause,
      failures,
      is_refused: end === 'refused',
    }),
  )
  if (!isDone && !signal.aborted)
    log.warn({ provider: PROVIDER, failures }, 'a reconciliation came to no end')
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
  const seen = new Set<string | null>()
  const unusable = openUnusable(PROVIDER, deps)
  let cursor: string | null = null
  let payments = 0
  while (seen.size < MAX_PAGES) {
    seen.add(cursor)
    const answer = await api.payments(since, cursor, signal)
    if (answer.is === 'refused') return 'refused'
    if (answer.is !== 'said' || !Array.isArray(answer.object.items)) return 'failed'
    const { items, next_cursor } = answer.object
    payments += items.length
    await unusable.note(await applyPage(deps, items, answer.askedAt))
    if (!(await db.acrossTenants((tx) => store.renew(tx, run, LEASE_MS)))) return 'overtaken'
    if (next_cursor === undefined || next_cursor === null) {
      log.info({ provider: PROVIDER, pages: seen.size, payments }, 'reconciled payments')
      return unusable.end() ? 'done' : 'failed'
    }
    if (!isName(next_cursor, MAX_CURSOR) || seen.has(next_cursor)) return 'failed'
    cursor = next_cursor
  }
  return 'failed'
}

/** A position that is still to come was written while the clock was wrong, so it says nothing. */
function sinceOf({ began_at, reconciled_to }: store.Run): string {
  const isKnown = reconciled_to !== null && reconciled_to <= began_at
  return isKnown ? earlier(reconciled_to, OVERLAP_MS) : earlier(began_at, FIRST_SPAN_MS)
}

const earlier = (time: string, ms: number) => new Date(Date.parse(time) - ms).toISOString()

/** Applies the items of a page. Answers those that cannot be. */
async function applyPage(
  { apply }: ReconciliationDeps,
  items: readonly unknown[],
  saidAt: number,
): Promise<Unusable[]> {
  const unusable: Unusable[] = []
  const itemOf = new Map<Read, unknown>()
  for (const item of items) {
    const reading: Reading = isObject(item) ? readingOf(item, saidAt) : UNREADABLE
    if (reading.is === 'failed') unusable.push({ item, reason: reading.reason })
    else itemOf.set({ reading, of: null }, item)
  }
  let left = [...itemOf.keys()]
  // Twice, as a payment that another node has added meanwhile is left alone the first time.
  for (let pass = 0; pass < 2 && left.length > 0; pass += 1) {
    const settled = await apply(left)
    for (const { read, reason } of settled)
      if (reason !== null) unusable.push({ item: itemOf.get(read), reason })
    left = settled.flatMap(({ read, state }) => (state === 'received' ? read : []))
  }
  return unusable
}

const UNREADABLE: Reading = { is: 'failed', reason: 'unreadable' }
