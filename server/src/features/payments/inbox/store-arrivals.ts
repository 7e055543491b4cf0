/**
 * Stores incoming notices. Notices that arrive together share a transaction, and each is acknowledged after the commit.
 * If the database is unavailable, the response is 503, because no notice may exist only in memory.
 */
import { randomUUID } from 'node:crypto'
import { batcher } from '../../../lib/batcher.ts'
import { HOUR, isoAt, SECOND } from '../../../lib/clock.ts'
import { Problem } from '../../../lib/problems.ts'
import type { Time } from '../../../lib/time.ts'
import { isPassing, type Scopes, type TenantTx } from '../../../platform/db/index.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import type { Notice } from '../payment-facts.ts'
import { INBOX_TOPIC } from '../payments.table.ts'
import type { Seals, SentNotification } from './sealed.ts'
import { type Arrival, countUnverified, insertArrivals } from './store-arrivals.store.ts'

/** The maximum number of unverified notifications per provider. Above this or the byte limit, the response is 429. */
export const MAX_UNVERIFIED = 10_000
export const MAX_UNVERIFIED_BYTES = 64 * 1024 * 1024
const MAX_TOGETHER = 200
/** The maximum bytes in a batch. Encrypting and escaping a full batch blocks the node for some milliseconds. */
const MAX_BYTES_TOGETHER = 1024 * 1024
const FULL_RETRY_SECONDS = HOUR / SECOND

/** `verified`: signed by the provider. `hint`: its API must confirm it. `unverified`: the provider is unconfigured. */
const ARRIVAL_STATES = ['verified', 'hint', 'unverified'] as const

export type ArrivalState = (typeof ARRIVAL_STATES)[number]

export interface Arriving {
  notice: Notice
  sent: SentNotification
  state: ArrivalState
}

type Waiting = Arriving & { at: string; isRefused: boolean }

export interface Arrivals {
  /** Stores a notice and resolves after the commit. @throws Problem 429 if there is no room for unverified notices */
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
      // Isolates a notice that the database rejects. If the database is unavailable, the whole batch fails.
      onError: (error, { length }) => {
        if (isPassing(error)) return 'drop'
        log.error(
          { err: error, notifications: length },
          'storing of payment notifications failed; retrying them one by one',
        )
        return 'split'
      },
    })
  // Uses separate batches, so that notices from unverified senders never delay signed notices.
  const batches = { verified: open(), hint: open(), unverified: open() }
  return {
    async take(arriving) {
      const waiting = { ...arriving, at: isoAt(clock), isRefused: false }
      await batches[arriving.state].add(waiting)
      if (waiting.isRefused) throw new Problem('inbox_full', { retryAfter: FULL_RETRY_SECONDS })
    },
    async stop(patienceMs) {
      await Promise.all(ARRIVAL_STATES.map((state) => batches[state].stop(patienceMs)))
    },
  }
}

/** Marks notices over the limits as refused, and returns the others. */
async function refuseTooMany(tx: TenantTx, waiting: readonly Waiting[]): Promise<Waiting[]> {
  const kept: Waiting[] = []
  const taken = new Map<string, { count: number; bytes: number }>()
  for (const one of waiting) {
    const { provider } = one.notice
    if (one.state !== 'unverified') {
      kept.push(one)
      continue
    }
    const { count, bytes } =
      taken.get(provider) ?? (await countUnverified(tx, provider, MAX_UNVERIFIED))
    const next = { count: count + 1, bytes: bytes + one.sent.body.length }
    // Sets the value in both cases, because the transaction may be retried.
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

/** Merges repeated notices of an event. Sorts by the bytes of the key, like `collate "C"`, to avoid deadlocks. */
function folded(waiting: readonly Waiting[]): Folded[] {
  const byKey = new Map<unknown, Folded>()
  for (const one of waiting) {
    const { provider, event_key } = one.notice
    const key = one.state === 'unverified' ? one : `${provider} ${event_key}`
    const known = byKey.get(key)
    if (known) known.times += 1
    else byKey.set(key, { first: one, times: 1 })
  }
  const keyOf = ({ first }: Folded) =>
    Buffer.from(`${first.notice.provider} ${first.notice.event_key}`)
  return [...byKey.values()].sort((a, b) => Buffer.compare(keyOf(a), keyOf(b)))
}

async function sealed(tx: TenantTx, seals: Seals, { first, times }: Folded): Promise<Arrival> {
  const { notice, sent, state, at } = first
  const seal_id = randomUUID()
  return {
    ...notice,
    ...(await seals.seal(tx, sent, { seal_id, tenant_id: null })),
    holds_key: state !== 'unverified',
    times,
    received_at: at,
    verified_at: state === 'verified' ? at : null,
    seal_id,
  }
}
