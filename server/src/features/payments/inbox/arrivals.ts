/**
 * Takes notices in: what has come together is stored by one transaction, and each is answered once that
 * has committed. Nothing is kept in memory alone, so a database that is away is a 503.
 */
import { randomUUID } from 'node:crypto'
import { batcher } from '../../../lib/batcher.ts'
import { HOUR, isoAt, SECOND } from '../../../lib/clock.ts'
import { Problem } from '../../../lib/problems.ts'
import type { Time } from '../../../lib/time.ts'
import { isPassing, type Scopes, type TenantTx } from '../../../platform/db/index.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import type { Notice } from '../payment-facts.ts'
import { type Arrival, countUnverified, insertArrivals } from './arrivals.store.ts'
import type { Seals, Sent } from './sealed.ts'
import { INBOX_TOPIC } from './topics.ts'

/** Unverified notifications of a provider, and their bytes. Beyond either, senders are asked to come again. */
export const MAX_UNVERIFIED = 10_000
export const MAX_UNVERIFIED_BYTES = 64 * 1024 * 1024
const MAX_TOGETHER = 200
/** Bytes that are stored together: sealed and escaped they hold up everything else for some ms. */
const MAX_BYTES_TOGETHER = 1024 * 1024
const FULL_RETRY_SECONDS = HOUR / SECOND

/**
 * What is proven of a notice as it comes: the provider has signed it; its API is to be asked; or nobody
 * can tell yet, as the provider is not configured.
 */
const STANDINGS = ['verified', 'hint', 'unverified'] as const

export type Standing = (typeof STANDINGS)[number]

export interface Arriving {
  notice: Notice
  sent: Sent
  standing: Standing
}

type Waiting = Arriving & { at: string; isRefused: boolean }

export interface Arrivals {
  /** Resolves once it is committed. @throws Problem 429 when there is no room for more unverified ones */
  take(arriving: Arriving): Promise<void>
  stop(patienceMs: number): Promise<void>
}

export interface ArrivalDeps {
  db: Scopes
  clock: Time
  seals: Seals
  log: Logger
}

export function openArrivals({ db, clock, seals, log }: ArrivalDeps): Arrivals {
  const store = (waiting: readonly Waiting[]) =>
    db.acrossTenants(async (tx) => {
      const kept = await refuseTooMany(tx, waiting)
      const arrivals = await Promise.all(folded(kept).map((one) => sealed(tx, seals, one)))
      if (arrivals.length === 0) return
      insertArrivals(tx, arrivals)
      tx.notify(INBOX_TOPIC)
    })
  const open = () =>
    batcher<Waiting>(store, {
      clock,
      maxItems: MAX_TOGETHER,
      maxSize: MAX_BYTES_TOGETHER,
      sizeOf: ({ sent }) => sent.body.length,
      // What the database refuses of one keeps no other out; when it is away all are told so.
      onError: (error, { length }) => {
        if (isPassing(error)) return 'drop'
        log.error({ err: error, notifications: length }, 'storing notifications')
        return 'split'
      },
    })
  // Each by itself: what strangers may send never holds up what is signed.
  const batches = { verified: open(), hint: open(), unverified: open() }
  return {
    async take(arriving) {
      const waiting = { ...arriving, at: isoAt(clock), isRefused: false }
      await batches[arriving.standing].add(waiting)
      if (waiting.isRefused) throw new Problem('inbox_full', { retryAfter: FULL_RETRY_SECONDS })
    },
    async stop(patienceMs) {
      await Promise.all(STANDINGS.map((standing) => batches[standing].stop(patienceMs)))
    },
  }
}

/** Marks those for which there is no room, and answers the others. */
async function refuseTooMany(tx: TenantTx, waiting: readonly Waiting[]): Promise<Waiting[]> {
  const kept: Waiting[] = []
  const taken = new Map<string, { count: number; bytes: number }>()
  for (const one of waiting) {
    const { provider } = one.notice
    if (one.standing !== 'unverified') {
      kept.push(one)
      continue
    }
    const { count, bytes } =
      taken.get(provider) ?? (await countUnverified(tx, provider, MAX_UNVERIFIED))
    const next = { count: count + 1, bytes: bytes + one.sent.body.length }
    // Set either way: the transaction may run again.
    one.isRefused = next.count > MAX_UNVERIFIED || next.bytes > MAX_UNVERIFIED_BYTES
    taken.set(provider, one.isRefused ? { count, bytes } : next)
    if (!one.isRefused) kept.push(one)
  }
  return kept
}

interface Folded {
  first: Waiting
  times: number
}

/** Each event once, in the order of their keys, by bytes as `collate "C"` has it: so no two transactions wait for each other in a circle. */
function folded(waiting: readonly Waiting[]): Folded[] {
  const byKey = new Map<unknown, Folded>()
  for (const one of waiting) {
    const { provider, event_key } = one.notice
    const key = one.standing === 'unverified' ? one : `${provider} ${event_key}`
    const known = byKey.get(key)
    if (known) known.times += 1
    else byKey.set(key, { first: one, times: 1 })
  }
  const keyOf = ({ first }: Folded) =>
    Buffer.from(`${first.notice.provider} ${first.notice.event_key}`)
  return [...byKey.values()].sort((a, b) => Buffer.compare(keyOf(a), keyOf(b)))
}

async function sealed(tx: TenantTx, seals: Seals, { first, times }: Folded): Promise<Arrival> {
  const { notice, sent, standing, at } = first
  const seal_id = randomUUID()
  return {
    ...notice,
    ...(await seals.seal(tx, sent, { seal_id, tenant_id: null })),
    holds_key: standing !== 'unverified',
    times,
    received_at: at,
    verified_at: standing === 'verified' ? at : null,
    seal_id,
  }
}
