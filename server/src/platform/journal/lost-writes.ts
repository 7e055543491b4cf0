/** Detects acknowledged journal entries that a new server lacks, before this node uses it (decision 0038). */
import { Counter } from 'prom-client'
import type { Time } from '../../lib/time.ts'
import {
  type Changes,
  inOwnTransaction,
  type RecentEntries,
  type RecentEntry,
  type Scopes,
  type TenantTx,
  type VerifiedClient,
  withDeadline,
} from '../db/index.ts'
import type { Finding, Fix } from '../feature/fix.ts'
import type { Logger } from '../observe/log.ts'
import type { Metrics } from '../observe/metrics.ts'
import { appendAll, type NewEntry, SYSTEM } from './append.ts'
import * as store from './lost-writes.store.ts'

/** Timeout of the search, which reads at most a hundred keys. After a timeout, the server is checked again. */
const SEARCH_WITHIN_MS = 5_000
/** Timeout of recording a loss, which may end the sessions of every user of a large installation. */
const RECORD_MS = 60_000
/** Maximum number of changes in the list of a finding or a journal entry. The count includes all changes. */
const MAX_NAMED = 20

export interface LostWrites {
  /** Adds work to the transaction that records a loss. The work runs once, on the node that records the loss. */
  onLoss(work: (tx: TenantTx) => Promise<void>): void
  readonly fixes: readonly Fix[]
}

export interface LostWritesDeps {
  changes: Changes
  recent: RecentEntries
  metrics: Pick<Metrics, 'registry'>
  log: Logger
  clock: Time
  db: Pick<Scopes, 'entryKey'>
}

/** Makes the database listener check each new server for lost entries. */
export function openLostWrites(deps: LostWritesDeps): LostWrites {
  const { db, changes, recent, metrics, log } = deps
  const works: ((tx: TenantTx) => Promise<void>)[] = []
  const counter = new Counter({
    name: 'wardkeep_lost_writes_total',
    help: 'Acknowledged journal entries lost in a failover',
    registers: [metrics.registry],
  })
  /** Runs the searches one after the other, because the listener may open two connections concurrently. */
  let last: Promise<unknown> = Promise.resolve()

  async function search(connection: VerifiedClient): Promise<void> {
    const { server } = connection.introduction
    const entries = recent.acknowledgedElsewhere(server)
    if (entries.length === 0) return
    const found = Promise.withResolvers<void>()
    const recording = inOwnTransaction(
      connection,
      { ...deps, entryKey: db.entryKey },
      async (tx) => {
        const missing = await store.findMissing(tx, entries)
        found.resolve()
        if (missing.length > 0) await record(tx, Object.values(server).join(' '), missing, works)
        return missing
      },
    )
    await withDeadline(Promise.race([found.promise, recording]), SEARCH_WITHIN_MS)
    const missing = await withDeadline(recording, RECORD_MS)
    recent.settle(server, entries, missing)
    if (missing.length === 0) return
    counter.inc(missing.length)
    log.error(
      { server, lost: missing.length, searched: entries.length, ...rangeOf(missing) },
      'acknowledged changes lost; all sessions ended',
    )
  }

  changes.checkServers({
    isNeeded: (server) => recent.acknowledgedElsewhere(server).length > 0,
    run(connection) {
      const searching = last.then(() => search(connection))
      last = searching.catch(() => undefined)
      return searching
    },
  })
  return { onLoss: (work) => void works.push(work), fixes: [LOST] }
}

async function record(
  tx: TenantTx,
  server: string,
  missing: readonly RecentEntry[],
  works: readonly ((tx: TenantTx) => Promise<void>)[],
): Promise<void> {
  await store.prepareRecord(tx)
  // Ends only sessions that the previous server granted. Later sessions are from this server.
  if (await store.recordLoss(tx, server, missing)) for (const work of works) await work(tx)
  tx.invalidate('restored')
  const tenantIds = missing.flatMap(({ tenant_id }) => tenant_id ?? [])
  const { from } = rangeOf(missing)
  const concerned = await store.listConcerned(tx, tenantIds, from)
  appendAll(
    tx,
    SYSTEM,
    concerned.flatMap(({ id, is_platform }) => entryOf(id, is_platform, missing) ?? []),
  )
}

/** Returns a journal entry about the losses of a tenant, or about all losses for the platform tenant. */
function entryOf(
  tenant_id: number,
  isPlatform: boolean,
  missing: readonly RecentEntry[],
): NewEntry | undefined {
  const own = isPlatform ? missing : missing.filter((entry) => entry.tenant_id === tenant_id)
  if (own.length === 0) return undefined
  const entries = own.slice(0, MAX_NAMED).map(({ tenant_id: _, ...entry }) => entry)
  return {
    action: 'database.writes_lost',
    tenant_id,
    resource_type: 'database',
    changes: { lost: own.length, ...rangeOf(own), entries },
  }
}

function rangeOf(entries: readonly RecentEntry[]): { from: string; to: string } {
  const times = entries.map(({ created_at }) => created_at).sort()
  return { from: times[0] ?? '', to: times.at(-1) ?? '' }
}

const LOST: Fix = {
  key: 'database.writes_lost',
  title: 'The database lost acknowledged changes',
  description:
    'A new primary does not have changes that the previous primary had acknowledged. A block, a changed role or a new password may be undone. All sessions were ended. A node remembers only its last 100 changes, so more may be lost than is listed.',
  severity: 'critical',
  automatic: false,
  plan: 'Closes the finding without restoring anything. Follow the runbook first, and restore blocks, roles and passwords before anything else.',
  runbook: 'lost-writes.md',
  async detect(tx) {
    const findings = (await store.listOpenLosses(tx)).map(findingOf)
    return { findings, looked_at: findings.length }
  },
  repair: ({ measured }, repairing) =>
    repairing(async (tx) =>
      (await store.closeLoss(tx, Number(measured.loss))) ? 'repaired' : 'already gone',
    ),
}

function findingOf({ id, noticed_at, entries }: store.OpenLoss): Finding {
  // A node may have recorded the same entries twice, if the acknowledgement of its first record was lost.
  const lost = [...new Map(entries.map((entry) => [JSON.stringify(entry), entry])).values()]
  return {
    tenant_id: null,
    subject: `loss ${id}`,
    measured: {
      loss: id,
      lost: lost.length,
      ...rangeOf(lost),
      changes: lost.slice(0, MAX_NAMED).map(inWords).join(', '),
    },
    expected: { lost: 0 },
    since: noticed_at,
  }
}

const inWords = ({ action, resource_type, resource_id }: RecentEntry) =>
  resource_id === null ? action : `${action} (${resource_type} ${resource_id})`
