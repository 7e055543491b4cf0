/**
 * Forwards the journal to another system. A consumer that sends inside its transaction would keep it open while it waits
 * for the network. So a forwarder has a lease instead of a locked row: it reads entries, sends them, and saves its
 * position after the receiver has them. After any failure it sends every entry after its position again (ADR 0043).
 */
import { poller } from '../../lib/poller.ts'
import type { Time } from '../../lib/time.ts'
import { type Changes, logFailures, type Scopes } from '../db/index.ts'
import { keepLease, type Lease, type LeasedWork, type Tenure, TenureOver } from '../lease/index.ts'
import type { Logger } from '../observe/log.ts'
import { JOURNAL_TOPIC } from './append.ts'
import { backlogFinder } from './backlog.ts'
import { BATCH, type JournalEntry, readAfter } from './consumer.ts'
import * as store from './forwarders.store.ts'

/** An entry with its number in the order of this forwarder, which is the same each time the entry is sent. */
export interface NumberedEntry extends JournalEntry {
  sequence: number
}

/** A connection to the receiver of a forwarder, from one failure to the next. */
export interface Receiver {
  /**
   * Sends entries in order. Resolves once the receiver can take more.
   * @throws ReceiverFault for any failure
   */
  send(entries: readonly NumberedEntry[]): Promise<void>
  /**
   * Returns the last confirmed entry, or undefined if none was confirmed since the previous call.
   * @throws ReceiverFault if entries may have been lost
   */
  confirmed(): Promise<Pick<NumberedEntry, 'xid' | 'id' | 'sequence'> | undefined>
  close(): Promise<unknown>
}

/** A failure of the receiver. Its message is a sentence for people. */
export class ReceiverFault extends Error {
  /** How long to wait before the next attempt, if the receiver has specified a time (milliseconds). */
  readonly retryAfterMs: number | undefined

  constructor(message: string, retryAfterMs?: number) {
    super(message)
    this.name = 'ReceiverFault'
    this.retryAfterMs = retryAfterMs
  }
}

export interface ForwardOptions {
  /** The forwarder's name, which identifies its position and its lease. */
  name: string
  /** The name of the work in the log, such as `export`. */
  title: string
  includesAccesses?: boolean
  /** Where a new forwarder begins. */
  since: store.ForwardSince
  /** Maximum number of entries that are read and sent together. The default is 500. */
  batch?: number
  open(tenure: Tenure): Receiver
  /** Called for each failed attempt. */
  onFailure(fault: ReceiverFault): void
}

interface Deps {
  db: Scopes
  changes: Changes
  clock: Time
  log: Logger
}

const POLL_MS = 1_000
const APART_MS = 5
const FIRST_PAUSE_MS = 1_000
const MAX_PAUSE_MS = 60_000

/** Competes for the lease of the forwarder, and forwards entries while this process has it. */
export function forward(deps: Deps, options: ForwardOptions): Lease {
  const { db, clock, log } = deps
  const { name, title, since } = options
  return keepLease({
    db,
    clock,
    log,
    row: {
      name: title,
      async claim(tx) {
        await store.createForwarder(tx, name, since)
        return store.claimForwarder(tx, name)
      },
      renew: (tx, epoch) => store.renewForwarder(tx, name, epoch),
      holds: (tx, epoch) => store.holdsForwarder(tx, name, epoch),
      release: (tx, epoch) => store.releaseForwarder(tx, name, epoch),
    },
    begin: (tenure) => forwardWithin(deps, options, tenure),
  })
}

function forwardWithin(deps: Deps, options: ForwardOptions, tenure: Tenure): LeasedWork {
  const { db, changes, clock, log } = deps
  const { name, title, open } = options
  const look = backlogFinder(db, options)
  let receiver: Receiver | undefined
  /** The last entry that was sent. Undefined after a failure, so that sending starts at the saved position again. */
  let sent: store.ForwardPosition | undefined
  let failures = 0
  let gapMs = APART_MS
  let blockedMs = APART_MS

  async function save(): Promise<void> {
    const last = await receiver?.confirmed()
    if (!last) return
    await db.acrossTenants(async (tx) => {
      await tenure.fence(tx)
      await store.saveForwardPosition(tx, name, last)
    })
    if (failures > 0) log.info({ attempts: failures }, `${title} resumed`)
    failures = 0
  }

  /** Sends one batch. Returns true if more entries may follow at once, or the milliseconds until the next look. */
  async function forwardOn(): Promise<boolean | number> {
    await save()
    sent ??= await db.acrossTenants((tx) => store.findForwardPosition(tx, name), 'read')
    const after = sent
    const { backlog, horizon } = await look(after)
    if (backlog === 'nothing') return POLL_MS
    if (backlog === 'blocked') {
      // Nothing notifies when the blocking transaction ends.
      blockedMs = Math.min(2 * blockedMs, POLL_MS)
      return blockedMs
    }
    blockedMs = APART_MS
    const found = await db.acrossTenants((tx) => readAfter(tx, options, after, horizon), 'read')
    const entries = found.map((entry, at) => ({ ...entry, sequence: after.sequence + at + 1 }))
    const last = entries.at(-1)
    if (!last) return POLL_MS
    if (!tenure.isSure()) throw new TenureOver(title)
    receiver ??= open(tenure)
    await receiver.send(entries)
    sent = { xid: last.xid, id: last.id, sequence: last.sequence }
    await save()
    return entries.length === (options.batch ?? BATCH)
  }

  async function restart(): Promise<void> {
    const old = receiver
    receiver = undefined
    sent = undefined
    await old?.close()
  }

  async function failed(fault: ReceiverFault): Promise<number> {
    failures += 1
    options.onFailure(fault)
    log.warn({ reason: fault.message, failures }, `${title} failed; entries will be sent again`)
    await db.acrossTenants(async (tx) => {
      await tenure.fence(tx)
      await store.saveForwardFailure(tx, name, fault.message)
    })
    const pause = Math.min(FIRST_PAUSE_MS * 2 ** Math.min(failures - 1, 10), MAX_PAUSE_MS)
    return Math.max(fault.retryAfterMs ?? 0, pause)
  }

  async function step(): Promise<boolean | number> {
    if (tenure.over.aborted) return Number.POSITIVE_INFINITY
    gapMs = APART_MS
    try {
      return await forwardOn()
    } catch (error) {
      if (error instanceof ReceiverFault) await saveRest()
      await restart()
      if (tenure.over.aborted || error instanceof TenureOver) return POLL_MS
      if (!(error instanceof ReceiverFault)) throw error
      gapMs = await failed(error)
      return gapMs
    }
  }

  /** Saves what the receiver had confirmed when it failed. A lost connection confirms nothing. */
  async function saveRest(): Promise<void> {
    try {
      await save()
    } catch (error) {
      if (!(error instanceof ReceiverFault)) throw error
    }
  }

  const steps = poller(step, {
    clock,
    pollMs: POLL_MS,
    minGapMs: () => gapMs,
    failureGapMs: POLL_MS,
    onError: logFailures(title, log),
  })
  const unsubscribe = changes.subscribe((topic) => {
    if (topic === JOURNAL_TOPIC || topic === null) steps.wake()
  })
  return {
    idle: steps.idle,
    async stop() {
      unsubscribe()
      await steps.stop()
      await restart()
    },
  }
}
