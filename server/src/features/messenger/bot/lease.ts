/** Has one process of all be the bot: it asks for updates and it sends. */
import { SECOND } from '../../../lib/clock.ts'
import { poller } from '../../../lib/poller.ts'
import type { Time } from '../../../lib/time.ts'
import {
  type Changes,
  logFailures,
  type Scopes,
  type TenantTx,
} from '../../../platform/db/index.ts'
import type { Background } from '../../../platform/feature.ts'
import { canFail } from '../../../platform/observe/can-fail.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import { TOPIC_BOT } from '../topics.ts'
import * as store from './bot.store.ts'

/** Between two looks whether the bot is free, and between two renewals. */
const LOOK_MS = 1_000
const RENEW_MS = 3_000

/** The time for which a process is the bot. */
export interface Tenure {
  readonly epoch: number
  /** Aborted when it is over. */
  readonly over: AbortSignal
  /** Whether no other process can be the bot now: asked before each message. */
  isSure(): boolean
  /**
   * Makes sure, within a transaction that writes what the bot has done, that this is still so when it
   * commits. @throws TenureOver when another process is the bot
   */
  fence(tx: TenantTx): Promise<void>
}

export class TenureOver extends Error {
  constructor() {
    super('another process is the bot now')
    this.name = 'TenureOver'
  }
}

export interface LeaseDeps {
  db: Scopes
  changes: Changes
  clock: Time
  log: Logger
  /** Of this process. */
  worker: string
  /** Begins the work of the bot. Returns how to end it, which lets go of all that is under way. */
  begin(tenure: Tenure): Background
}

export interface Lease {
  /** Resolves when the bot has nothing to send. At once where another process is the bot, or the bot is not known yet. */
  idle(): Promise<void>
  /** Ends the work, and lets another process have the bot at once. */
  stop(): Promise<void>
}

export function keepLease({ db, changes, clock, log, worker, begin }: LeaseDeps): Lease {
  let held: { tenure: Tenure; sureUntil: number; end: AbortController } | undefined
  let work: Background | undefined

  const leaseFrom = (askedAt: number) => askedAt + (store.LEASE_SECONDS - 1) * SECOND

  async function take(): Promise<void> {
    const askedAt = clock.monotonic()
    const epoch = await db.acrossTenants((tx) => store.claim(tx, worker))
    if (epoch === undefined) return
    const end = new AbortController()
    const mine = { sureUntil: leaseFrom(askedAt), end }
    const tenure: Tenure = {
      epoch,
      over: end.signal,
      isSure: () => !end.signal.aborted && clock.monotonic() < (held?.sureUntil ?? 0),
      async fence(tx) {
        if (!(await store.isOurs(tx, epoch))) throw new TenureOver()
      },
    }
    held = { tenure, ...mine }
    log.info({ epoch }, 'this process is the messenger bot')
    work = begin(tenure)
    changes.notify(TOPIC_BOT)
  }

  async function leave(): Promise<void> {
    held?.end.abort()
    held = undefined
    await work?.stop()
    work = undefined
  }

  async function keep(epoch: number): Promise<void> {
    const askedAt = clock.monotonic()
    const isRenewed = await db.acrossTenants((tx) => store.renew(tx, epoch))
    if (isRenewed) {
      if (held) held.sureUntil = leaseFrom(askedAt)
      return
    }
    log.warn({ epoch }, 'another process is the messenger bot now')
    await leave()
  }

  const keeper = poller(
    async () => {
      if (held) await keep(held.tenure.epoch)
      else await take()
      return held ? RENEW_MS : LOOK_MS
    },
    { clock, pollMs: LOOK_MS, onError: logFailures('keeping the lease of the messenger', log) },
  )
  // Somebody has let go of it.
  const unsubscribe = changes.subscribe((topic) => {
    if (topic === TOPIC_BOT && !held) keeper.wake()
  })

  return {
    async idle() {
      await keeper.idle()
      await work?.idle()
    },
    async stop() {
      unsubscribe()
      await keeper.stop()
      const epoch = held?.tenure.epoch
      await leave()
      if (epoch === undefined) return
      const released = db.acrossTenants((tx) => store.release(tx, epoch))
      await canFail(released, 'letting go of the messenger', log)
      changes.notify(TOPIC_BOT)
    },
  }
}
