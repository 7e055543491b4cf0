/**
 * Ensures that at most one process does certain work. A process that is killed loses the lease when it expires, and each
 * holder has an epoch, with which its writes prove that no other process has taken over.
 */
import { SECOND } from '../../lib/clock.ts'
import { poller } from '../../lib/poller.ts'
import type { Time } from '../../lib/time.ts'
import { type Changes, logFailures, type Scopes, type TenantTx, type Topic } from '../db/index.ts'
import { canFail } from '../observe/can-fail.ts'
import type { Logger } from '../observe/log.ts'

/** The time between checks whether the lease is free. `RENEW_MS` is the time between renewals. */
const POLL_MS = 1_000
const RENEW_MS = 3_000

/** The duration of a lease without renewal, in seconds. After a process is killed, its work pauses for this long. */
export const LEASE_SECONDS = 10

/** The row of a lease. Leases follow the database's clock, because the clocks of nodes may be wrong. */
export interface LeaseRow {
  /** The name of the work in the log, such as `messenger bot`. */
  name: string
  /** Claims the lease for `LEASE_SECONDS`. Returns the new epoch, or undefined if another process has the lease. */
  claim(tx: TenantTx): Promise<number | undefined>
  /** Extends the lease by `LEASE_SECONDS`. Returns false if this process no longer has the lease. */
  renew(tx: TenantTx, epoch: number): Promise<boolean>
  /** Returns whether this process has the lease. If so, no other process can claim it before the transaction ends. */
  holds(tx: TenantTx, epoch: number): Promise<boolean>
  /** Releases the lease, so that another process can claim it at once. */
  release(tx: TenantTx, epoch: number): Promise<void>
}

/** Work that runs while this process has the lease. */
export interface LeasedWork {
  idle(): Promise<unknown>
  /** Ends the work and its requests. */
  stop(): Promise<unknown>
}

/** The period during which this process has the lease. */
export interface Tenure {
  readonly epoch: number
  /** Aborts when the tenure is over. */
  readonly over: AbortSignal
  /** Returns whether this process certainly has the lease. The caller must check this before each external effect. */
  isSure(): boolean
  /**
   * Ensures that this process still has the lease when the transaction commits. The caller must call this function in
   * each transaction that records results.
   * @throws TenureOver if another process has taken over
   */
  fence(tx: TenantTx): Promise<void>
}

export class TenureOver extends Error {
  constructor(name: string) {
    super(`another process took over the ${name}`)
    this.name = 'TenureOver'
  }
}

export interface LeaseDeps {
  db: Scopes
  clock: Time
  log: Logger
  row: LeaseRow
  /** Change notifications, and the topic on which processes notify each other that the lease has changed hands. */
  signals?: { changes: Changes; topic: Topic }
  /** Starts the work. Stopping the returned work also aborts its requests. */
  begin(tenure: Tenure): LeasedWork
}

export interface Lease {
  /** Resolves when the work is idle. Resolves at once if another process does the work. */
  idle(): Promise<void>
  /** Ends the work, and releases the lease so that another process can claim it immediately. */
  stop(): Promise<void>
}

export function keepLease({ db, clock, log, row, signals, begin }: LeaseDeps): Lease {
  let current: { tenure: Tenure; sureUntil: number; end: AbortController } | undefined
  let work: LeasedWork | undefined

  const leaseFrom = (askedAt: number) => askedAt + (LEASE_SECONDS - 1) * SECOND
  const signal = () => signals?.changes.notify(signals.topic)

  async function take(): Promise<void> {
    const askedAt = clock.monotonic()
    const epoch = await db.acrossTenants(row.claim)
    if (epoch === undefined) return
    const end = new AbortController()
    const mine = { sureUntil: leaseFrom(askedAt), end }
    const tenure: Tenure = {
      epoch,
      over: end.signal,
      isSure: () => !end.signal.aborted && clock.monotonic() < (current?.sureUntil ?? 0),
      async fence(tx) {
        if (!(await row.holds(tx, epoch))) throw new TenureOver(row.name)
      },
    }
    current = { tenure, ...mine }
    log.info({ epoch }, `${row.name} lease acquired`)
    work = begin(tenure)
    signal()
  }

  async function leave(): Promise<void> {
    current?.end.abort()
    current = undefined
    await work?.stop()
    work = undefined
  }

  async function keep(epoch: number): Promise<void> {
    const askedAt = clock.monotonic()
    const isRenewed = await db.acrossTenants((tx) => row.renew(tx, epoch))
    if (isRenewed) {
      if (current) current.sureUntil = leaseFrom(askedAt)
      return
    }
    log.warn({ epoch }, `${row.name} lease lost to another process`)
    await leave()
  }

  const renewal = poller(
    async () => {
      if (current) await keep(current.tenure.epoch)
      else await take()
      return current ? RENEW_MS : POLL_MS
    },
    { clock, pollMs: POLL_MS, onError: logFailures(`renewal of the ${row.name} lease`, log) },
  )
  // Checks the lease after each change of its row, because another process may have released the lease.
  const unsubscribe = signals?.changes.subscribe((topic) => {
    if (topic === signals.topic && !current) renewal.wake()
  })

  return {
    async idle() {
      await renewal.idle()
      await work?.idle()
    },
    async stop() {
      unsubscribe?.()
      await renewal.stop()
      const epoch = current?.tenure.epoch
      await leave()
      if (epoch === undefined) return
      const released = db.acrossTenants((tx) => row.release(tx, epoch))
      await canFail(released, `release of the ${row.name} lease`, log)
      signal()
    },
  }
}
