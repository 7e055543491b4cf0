/**
 * The readers that the service counts on, and what can be wrong with one that falls behind: a transaction
 * holds it back, open or prepared, nobody works, or its work fails. No entry is ever skipped for it.
 */
import { type Clock, isoAt, MINUTE } from '../../lib/clock.ts'
import type { TenantTx } from '../db/index.ts'
import type { Finding, Fix } from '../fix.ts'
import { horizonOf } from './horizon.ts'
import * as store from './readers.store.ts'

/** Whatever the load: a reader that is well has read an entry within seconds. */
const LATE_MS = 5 * MINUTE
/** What passes by itself is over by then. */
const FAILING_MS = MINUTE

export interface Readers {
  /** Counts on a consumer to be at work wherever the background work is done. */
  add(consumer: string): void
  readonly fixes: readonly Fix[]
}

/** @param waits whether the readers wait, as in a restored copy */
export function openReaders({ clock, waits }: { clock: Clock; waits: () => boolean }): Readers {
  const consumers: string[] = []
  const standings = async (tx: TenantTx) =>
    waits() ? [] : store.standings(tx, consumers, (await horizonOf(tx)).xid)
  return {
    add: (consumer) => void consumers.push(consumer),
    fixes: [heldBack, prepared, unread, failing].map((fix) => fix(clock, standings)),
  }
}

type Standings = (tx: TenantTx) => Promise<store.Standing[]>

const isHeldBack = (all: readonly store.Standing[], late: string): boolean =>
  all.some(
    ({ waiting_since, is_settled }) =>
      waiting_since !== null && waiting_since < late && is_settled === false,
  )

const heldBack = (clock: Clock, standings: Standings): Fix => ({
  key: 'journal.held_back',
  title: 'A long transaction holds the readers of the journal back',
  description:
    'A connection to the database has written something and not committed for minutes. What was written into the journal after it could still be joined by something older, so webhooks and messages about it wait.',
  severity: 'high',
  automatic: false,
  plan: 'Ends the connection, and with it the transaction: what it has not committed is undone. Look first who it is by its application, and end it there if you can. Backups, restores and migrations of the service are never among these.',
  runbook: 'journal-readers.md',
  async detect(tx) {
    const late = isoAt(clock, -LATE_MS)
    const writers = await store.listWriters(tx)
    const holders = isHeldBack(await standings(tx), late)
      ? writers.filter(({ begun_at }) => begun_at === null || begun_at < late)
      : []
    const findings = holders.map((holder) => holderFinding(holder, clock))
    return { findings, looked_at: writers.length }
  },
  repair: ({ measured }, repairing) =>
    repairing(async (tx) => {
      const ended = await store.endWriter(tx, {
        pid: Number(measured.pid),
        connected: String(measured.connected),
        begun: measured.begun === null ? null : String(measured.begun),
      })
      if (ended === false)
        throw new Error('its connection does not end: end it where it comes from')
      return ended ? 'repaired' : 'already gone'
    }),
})

function holderFinding(holder: store.Writer, clock: Clock): Finding {
  const { pid, connected, begun, begun_at, application } = holder
  return {
    tenant_id: null,
    subject: `connection ${pid} since ${connected}`,
    measured: {
      pid,
      connected,
      begun,
      age_seconds: begun_at && Math.round((clock.now() - Date.parse(begun_at)) / 1000),
      application: cleaned(application),
    },
    expected: { age_seconds_at_most: LATE_MS / 1000 },
    ...(begun_at ? { since: begun_at } : {}),
  }
}

/** Of what strangers have named: nothing that could be an address stays in it. */
const cleaned = (name: string) => name.replace(/[^\w .:/()-]/g, '?')

const prepared = (clock: Clock, standings: Standings): Fix => ({
  key: 'journal.prepared',
  title: 'A prepared transaction holds the readers of the journal back',
  description:
    'A program has prepared a transaction of two phases and ended neither well nor badly. It outlives its connection and every restart, and webhooks and messages about what was written after it wait. The service itself prepares none.',
  severity: 'high',
  automatic: false,
  // Whoever has prepared it was promised that it can be committed, and may have told others that it is.
  plan: 'Nothing is done: only the program that has prepared it knows whether it is to be committed. Ask there, or whoever its owner is, and end it as the runbook says.',
  runbook: 'journal-readers.md',
  async detect(tx) {
    const late = isoAt(clock, -LATE_MS)
    const all = await store.listPrepared(tx)
    const isFault = all.length > 0 && isHeldBack(await standings(tx), late)
    const holders = isFault ? all.filter(({ prepared_at }) => prepared_at < late) : []
    return { findings: holders.map((one) => preparedFinding(one, clock)), looked_at: all.length }
  },
})

const preparedFinding = (
  { number, gid, owner, prepared_at }: store.Prepared,
  clock: Clock,
): Finding => ({
  tenant_id: null,
  subject: `prepared transaction ${number}`,
  measured: {
    gid: cleaned(gid),
    owner,
    age_seconds: Math.round((clock.now() - Date.parse(prepared_at)) / 1000),
  },
  expected: { age_seconds_at_most: LATE_MS / 1000 },
  since: prepared_at,
})

const unread = (clock: Clock, standings: Standings): Fix => ({
  key: 'journal.unread',
  title: 'Nobody reads the journal for webhooks or messages',
  description:
    'Entries of the journal wait for a reader, and none is at work: every process has the role api, or those that do the background work hang. What waits is not lost: it is read from where the reader stands.',
  severity: 'high',
  automatic: false,
  plan: 'Nothing is done: start a process with the role worker or all, or start those again that should be at work.',
  runbook: 'journal-readers.md',
  async detect(tx) {
    const late = isoAt(clock, -LATE_MS)
    const all = await standings(tx)
    const idle = all.filter(
      ({ waiting_since, is_settled, moved_at, failing_since }) =>
        waiting_since !== null &&
        waiting_since < late &&
        is_settled === true &&
        failing_since === null &&
        (moved_at === null || moved_at < late),
    )
    return {
      findings: idle.map((one) =>
        readerFinding(one, { moved_at: one.moved_at }, { waits_at_most_s: LATE_MS / 1000 }),
      ),
      looked_at: all.length,
    }
  },
})

const failing = (clock: Clock, standings: Standings): Fix => ({
  key: 'journal.failing',
  title: 'A reader of the journal fails again and again',
  description:
    'The work on the next entries of the journal fails, and is tried again every second. No entry is skipped, so all behind them wait. The log has the error as "reading the journal for … failed".',
  severity: 'high',
  automatic: false,
  plan: 'Nothing is done: see to what the error speaks of. The reader goes on by itself, from where it stands.',
  runbook: 'journal-readers.md',
  async detect(tx) {
    const late = isoAt(clock, -FAILING_MS)
    const all = await standings(tx)
    const findings = all.flatMap((one) =>
      one.failing_since !== null && one.failing_since < late && one.waiting_since !== null
        ? [readerFinding(one, { error: one.error }, { error: null }, one.failing_since)]
        : [],
    )
    return { findings, looked_at: all.length }
  },
})

const readerFinding = (
  { consumer, entry_id, waiting_since }: store.Standing,
  measured: Finding['measured'],
  expected: Finding['expected'],
  since = waiting_since,
): Finding => ({
  tenant_id: null,
  subject: `reader ${consumer}`,
  measured: { consumer, last_entry_read: entry_id, entry_waits_since: waiting_since, ...measured },
  expected,
  ...(since === null ? {} : { since }),
})
