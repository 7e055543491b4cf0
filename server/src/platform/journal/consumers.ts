/** The service's own consumers of the journal, with their health check and the fix for one that falls behind. */
import { type Clock, isoAt, MINUTE } from '../../lib/clock.ts'
import type { Scopes, TenantTx } from '../db/index.ts'
import type { Finding, Fix } from '../feature/fix.ts'
import type { Upkeep } from '../lifecycle/upkeep.ts'
import * as store from './consumers.store.ts'
import { horizonOf } from './horizon.ts'

/** The maximum age of an unread entry. Under any load, healthy consumers read every entry within seconds. */
const LATE_MS = 5 * MINUTE
const RUNBOOK = 'journal-readers.md'

export interface Readers {
  /**
   * Registers a consumer, which must run wherever background work runs.
   * @param options.includesAccesses true if it also reads entries that record an access
   */
  add(consumer: string, options?: { includesAccesses?: boolean }): void
  /** Returns the names of the consumers. */
  names(): readonly string[]
  /** Returns the health of the consumers, as determined within the last minute. */
  check(): ReadersHealth
  readonly upkeep: Upkeep
  readonly fixes: readonly Fix[]
}

type ReadersHealth =
  | { state: 'ok' }
  | { state: 'degraded'; reason: string; since: string | null; runbook: string }

interface ReadersDeps {
  db: Scopes
  clock: Clock
  /** Returns true while the consumers are paused, for example in a restored copy. */
  waits: () => boolean
}

export function openReaders({ db, clock, waits }: ReadersDeps): Readers {
  const consumers: store.KnownConsumer[] = []
  let health: ReadersHealth = { state: 'ok' }
  const findPositions = async (tx: TenantTx) =>
    waits() ? [] : store.findPositions(tx, consumers, (await horizonOf(tx)).xid)
  return {
    add: (name, { includesAccesses = false } = {}) =>
      void consumers.push({ name, includesAccesses }),
    names: () => consumers.map(({ name }) => name),
    check: () => health,
    upkeep: {
      what: 'journal reader health check',
      everyMs: MINUTE,
      isNeededToServe: false,
      run: async () => {
        const late = isoAt(clock, -LATE_MS)
        health = await db.acrossTenants(
          async (tx) =>
            healthOf(await findPositions(tx), late, await store.isAnyPrepared(tx, late)),
          'read',
        )
      },
    },
    fixes: [heldBack(clock, findPositions)],
  }
}

/**
 * Returns `degraded` if a consumer is behind. @param isPrepared true if a transaction prepared before `late` is pending
 */
function healthOf(
  all: readonly store.ConsumerPosition[],
  late: string,
  isPrepared: boolean,
): ReadersHealth {
  const behind = all.find(({ waiting_since, moved_at, is_settled }) => {
    if (waiting_since === null || waiting_since >= late) return false
    // `journal.held_back` reports open transactions. A consumer whose position moves is catching up.
    return is_settled === false ? isPrepared : moved_at === null || moved_at < late
  })
  if (!behind) return { state: 'ok' }
  const { consumer, is_settled, failing_since, waiting_since: since } = behind
  const reason =
    failing_since !== null
      ? `The journal reader ${consumer} keeps failing. See the log for the cause.`
      : is_settled === false
        ? `A prepared transaction blocks the journal reader ${consumer}. Commit it or roll it back.`
        : `No process is running the journal reader ${consumer}. Start a node with the role worker.`
  return { state: 'degraded', reason, since, runbook: RUNBOOK }
}

type FindPositions = (tx: TenantTx) => Promise<store.ConsumerPosition[]>

const isHeldBack = (all: readonly store.ConsumerPosition[], late: string): boolean =>
  all.some(
    ({ waiting_since, is_settled }) =>
      waiting_since !== null && waiting_since < late && is_settled === false,
  )

const heldBack = (clock: Clock, findPositions: FindPositions): Fix => ({
  key: 'journal.held_back',
  title: 'A long transaction blocks the journal readers',
  description:
    'A database connection has had an uncommitted write for minutes. Journal readers wait for it to keep the order of entries, so newer webhooks and messages wait too.',
  severity: 'high',
  automatic: false,
  plan: 'Ends the connection, which rolls back its transaction. First find the owner by the application name, and end the transaction there if you can. Backups, restores and migrations of the service are never affected.',
  runbook: RUNBOOK,
  async detect(tx) {
    const late = isoAt(clock, -LATE_MS)
    const writers = await store.listWriters(tx)
    const holders = isHeldBack(await findPositions(tx), late)
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
        throw new Error('the connection does not end. End it in the program that opened it')
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

/** Replaces special characters in names that clients choose, which must not look like an address. */
const cleaned = (name: string) => name.replace(/[^\w .:/()-]/g, '?')
