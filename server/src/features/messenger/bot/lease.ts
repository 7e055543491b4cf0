/** Ensures that at most one process runs the bot, which receives updates and sends messages. */
import { SECOND } from '../../../lib/clock.ts'
import { poller } from '../../../lib/poller.ts'
import type { Time } from '../../../lib/time.ts'
import {
  type Changes,
  logFailures,
  type Scopes,
  type TenantTx,
} from '../../../platform/db/index.ts'
import type { Background } from '../../../platform/feature/feature.ts'
import { canFail } from '../../../platform/observe/can-fail.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import { TOPIC_BOT } from '../messenger.table.ts'
import * as store from './bot.store.ts'

/** The time between checks whether the lease is free. `RENEW_MS` is the time between renewals. */
const POLL_MS = 1_000
const RENEW_MS = 3_000

/** The period during which this process runs the bot. */
export interface Tenure {
  readonly epoch: number
  /** Aborts when the tenure is over. */
  readonly over: AbortSignal
  /** Returns whether this process certainly has the bot's lease. The caller must check this before each message. */
  isSure(): boolean
  /**
   * Ensures that this process still has the lease when the transaction commits. The caller must call this function in
   * each transaction that records results.
   * @throws TenureOver if another process runs the bot
   */
  fence(tx: TenantTx): Promise<void>
}

export class TenureOver extends Error {
  constructor() {
    super('another process took over the messenger bot')
    this.name = 'TenureOver'
  }
}

export interface LeaseDeps {
  db: Scopes
  changes: Changes
  clock: Time
  log: Logger
  worker: string
  /** Starts the bot's work. Stopping the returned work also aborts its requests. */
  begin(tenure: Tenure): Background
}

export interface BotLease {
  /** Resolves when no message is due. Resolves at once if another process runs the bot or the token is not valid. */
  idle(): Promise<void>
  /** Ends the bot's work, and releases the lease so that another process can claim it immediately. */
  stop(): Promise<void>
}

export function keepLease({ db, changes, clock, log, worker, begin }: LeaseDeps): BotLease {
  let current: { tenure: Tenure; sureUntil: number; end: AbortController } | undefined
  let work: Background | undefined

  const leaseFrom = (askedAt: number) => askedAt + (store.BOT_LEASE_SECONDS - 1) * SECOND

  async function take(): Promise<void> {
    const askedAt = clock.monotonic()
    const epoch = await db.acrossTenants((tx) => store.claimBotLease(tx, worker))
    if (epoch === undefined) return
    const end = new AbortController()
    const mine = { sureUntil: leaseFrom(askedAt), end }
    const tenure: Tenure = {
      epoch,
      over: end.signal,
      isSure: () => !end.signal.aborted && clock.monotonic() < (current?.sureUntil ?? 0),
      async fence(tx) {
        if (!(await store.holdsBotLease(tx, epoch))) throw new TenureOver()
      },
    }
    current = { tenure, ...mine }
    log.info({ epoch }, 'messenger bot lease acquired')
    work = begin(tenure)
    changes.notify(TOPIC_BOT)
  }

  async function leave(): Promise<void> {
    current?.end.abort()
    current = undefined
    await work?.stop()
    work = undefined
  }

  async function keep(epoch: number): Promise<void> {
    const askedAt = clock.monotonic()
    const isRenewed = await db.acrossTenants((tx) => store.renewBotLease(tx, epoch))
    if (isRenewed) {
      if (current) current.sureUntil = leaseFrom(askedAt)
      return
    }
    log.warn({ epoch }, 'messenger bot lease lost to another process')
    await leave()
  }

  const renewal = poller(
    async () => {
      if (current) await keep(current.tenure.epoch)
      else await take()
      return current ? RENEW_MS : POLL_MS
    },
    { clock, pollMs: POLL_MS, onError: logFailures('renewal of the messenger bot lease', log) },
  )
  // Checks the lease after each change of the bot's row, because another process may have released the lease.
  const unsubscribe = changes.subscribe((topic) => {
    if (topic === TOPIC_BOT && !current) renewal.wake()
  })

  return {
    async idle() {
      await renewal.idle()
      await work?.idle()
    },
    async stop() {
      unsubscribe()
      await renewal.stop()
      const epoch = current?.tenure.epoch
      await leave()
      if (epoch === undefined) return
      const released = db.acrossTenants((tx) => store.releaseBotLease(tx, epoch))
      await canFail(released, 'release of the messenger bot lease', log)
      changes.notify(TOPIC_BOT)
    },
  }
}
