/**
 * Removes entries that are past the retention of their tenant (ADR 0042). Archives the oldest entries of a log, then
 * deletes them and appends the order `audit.pruned`. Verification reports a removal without an order.
 */
import type { Checkpoint } from '../../../lib/merkle/checkpoint.ts'
import { HASH_BYTES, TILE_WIDTH } from '../../../lib/merkle/tree.ts'
import { isDatabaseFailure, type Scopes, type TenantTx } from '../../../platform/db/index.ts'
import { append, readOwn, SYSTEM } from '../../../platform/journal/index.ts'
import { canFail } from '../../../platform/observe/can-fail.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import { type EntryEvidence, writeOrigin } from '../offline/index.ts'
import type { AuditKeys } from '../transparency/audit-key.ts'
import { PRUNED } from '../transparency/leaf.ts'
import { type LogRow, PLATFORM_LOG } from '../transparency/logs.store.ts'
import { type LeafRow, readLeaves, readTiles } from '../transparency/read-log.store.ts'
import { sealEntries } from '../transparency/sealer.ts'
import { verifiedRoot } from '../transparency/verified-root.ts'
import { itemOfRow } from '../transparency/verify-log.ts'
import { findForged } from '../verification/find-forged.ts'
import { type Archive, type ArchiveDeps, archiveEntries, NotRemovable } from './archive.ts'
import * as store from './retention.store.ts'

/** The maximum number of entries in an archive. The sealer waits less than a second for their deletion. */
const BATCH = 10_240

export interface PruneDeps extends ArchiveDeps {
  db: Scopes
  log: Logger
  keys: AuditKeys
  /** Returns the names of the consumers that must have read an entry before it is removed. */
  readers(): readonly string[]
  /** The shortest valid retention in days. Shorter values in settings have no effect. */
  minDays: number
}

/** Removes all entries that are past their retention, and the months without entries. */
export async function pruneLogs(deps: PruneDeps, signal: AbortSignal): Promise<void> {
  const { db, minDays } = deps
  await deps.keys.prepare()
  const failed: store.DueLog[] = []
  const next = (from: number) =>
    db.acrossTenants((tx) => store.findDueLog(tx, from, minDays), 'read')
  for (let due = await next(0); due; ) {
    signal.throwIfAborted()
    const outcome = await pruneNext(deps, due)
    if (outcome === 'failed') failed.push(due)
    due = await next(outcome === 'removed' ? due.tenant_id : due.tenant_id + 1)
  }
  await db.acrossTenants((tx) => store.forgetFailures(tx, failed))
  await dropEmptyMonths(deps, signal)
}

/** Drops each month without entries in a transaction of its own. A month that is in use is dropped the next night. */
async function dropEmptyMonths({ db, log }: PruneDeps, signal: AbortSignal): Promise<void> {
  for (const month of await db.acrossTenants(store.listOldMonths, 'read')) {
    signal.throwIfAborted()
    if (await db.acrossTenants((tx) => store.hasEntries(tx, month), 'read')) continue
    const dropping = db.acrossTenants((tx) => store.dropEmptyMonth(tx, month))
    if (await canFail(dropping, `removal of the month ${month} from the journal`, log))
      log.info({ month }, 'empty month removed from the journal')
  }
}

/** Removes the next entries of a log. A log that fails does not keep others from it. */
async function pruneNext(
  deps: PruneDeps,
  due: store.DueLog,
): Promise<'removed' | 'nothing' | 'failed'> {
  const { db, log } = deps
  const { tenant_id, epoch, pruned_size: first } = due
  try {
    const find = (tx: TenantTx) => store.findDueRange(tx, due, deps.readers(), BATCH)
    const { end, isMissing } = await db.acrossTenants(find, 'read')
    if (end > first) {
      await db.acrossTenants((tx) => requireLastOrder(tx, tenant_id), 'read')
      const archive = await archiveEntries(deps, due, { first, end })
      await db.acrossTenants((tx) => removeArchived(tx, deps.keys, due, end, archive))
      return 'removed'
    }
    if (isMissing) throw new NotRemovable(MISSING)
    return 'nothing'
  } catch (error) {
    if (isDatabaseFailure(error)) throw error
    log.error({ err: error, tenant_id, epoch }, 'audit log entries past retention not removed')
    const failure = error instanceof NotRemovable ? error.message : UNEXPECTED
    await db.acrossTenants((tx) => store.noteFailure(tx, due, failure))
    return 'failed'
  }
}

const MISSING =
  'The journal lacks an entry of the log, so the entries after it stay as evidence. Run wardkeep audit verify to see the finding.'
const ALTERED =
  'Entries of the log are missing without an order, or the log was altered. Run wardkeep audit verify to see the findings.'
const UNEXPECTED =
  'Entries could not be archived or removed. See the log of the worker for the cause, and check AUDIT_ARCHIVE_DIR.'

/**
 * Returns the last order to remove entries of a tenant, or undefined if the tenant has none. The next order confirms all
 * earlier removals again. Therefore, the leaves without entries must be exactly those of the last order.
 * @throws NotRemovable if the leaves differ, or if the verification has found that a log of the tenant was altered
 */
async function requireLastOrder(
  tx: TenantTx,
  tenantId: number,
): Promise<EntryEvidence | undefined> {
  if (await store.hasFindings(tx, tenantId)) throw new NotRemovable(ALTERED)
  const place = await store.findLastOrder(tx, tenantId)
  const [row] = place
    ? await readLeaves(tx, { tenant_id: tenantId, ...place }, place.index, place.index + 1)
    : []
  const order = row?.entry ? await genuineOrder(tx, tenantId, place?.epoch ?? 0, row) : undefined
  const ordered = (order?.pruned ?? []).map(({ epoch, first, last }) => `${epoch} ${first} ${last}`)
  const pruned = await store.listPruned(tx, tenantId)
  const found = pruned.map(({ epoch, pruned_size }) => `${epoch} 0 ${pruned_size - 1}`)
  if (ordered.toSorted().join() !== found.toSorted().join()) throw new NotRemovable(ALTERED)
  return order
}

/** Returns the evidence of an order, or undefined if somebody changed the order or forged it. */
async function genuineOrder(
  tx: TenantTx,
  tenant_id: number,
  epoch: number,
  row: LeafRow,
): Promise<EntryEvidence | undefined> {
  const { index } = row
  const tile = Math.floor(index / TILE_WIDTH)
  const tiles = await readTiles(tx, { tenant_id, epoch }, { level: 0, index: tile }, 1)
  const at = (index - tile * TILE_WIDTH) * HASH_BYTES
  const { hash, evidence } = itemOfRow(row)
  const isIntact =
    hash &&
    tiles
      .get(tile)
      ?.subarray(at, at + HASH_BYTES)
      .equals(hash)
  return isIntact && (await findForged(tx, [row])).length === 0 ? evidence : undefined
}

/**
 * Removes archived entries. Appends and seals the order in the same transaction. Each order names all removed leaves of
 * the tenant, because the retention later removes the earlier orders.
 */
async function removeArchived(
  tx: TenantTx,
  keys: AuditKeys,
  due: store.DueLog,
  end: number,
  archive: Archive,
): Promise<void> {
  const { tenant_id, epoch, pruned_size: first, retention_days } = due
  const before = await requireLastOrder(tx, tenant_id)
  await store.pruneEntries(tx, due, end)
  if (tenant_id === PLATFORM_LOG) await store.forgetAnchors(tx)
  const pruned = await store.listPruned(tx, tenant_id)
  await append(tx, SYSTEM, {
    action: PRUNED,
    tenant_id: store.tenantOf(tenant_id),
    resource_type: 'audit_log',
    resource_id: tenant_id,
    changes: {
      retention_days,
      entries: end - first,
      archive: { ...archive, epoch, first, last: end - 1 },
      leaves: pruned.map((log) => ({ epoch: log.epoch, first: 0, last: log.pruned_size - 1 })),
      heads: await headsOf(tx, keys, pruned, before?.confirms ?? []),
    },
  })
  await sealEntries(tx, await readOwn(tx, PRUNED))
}

/**
 * Returns the heads of the ended epochs without entries, because the entries that confirm these heads are removed next.
 * @param known the heads in the last order
 */
async function headsOf(
  tx: TenantTx,
  keys: AuditKeys,
  pruned: readonly LogRow[],
  known: readonly Checkpoint[],
) {
  const [{ name }] = await keys.signers(tx)
  const heads: { origin: string; size: number; root: string }[] = []
  const isEmptied = ({ ended_at, pruned_size, size }: LogRow) =>
    ended_at !== null && pruned_size === size
  for (const log of pruned.filter(isEmptied)) {
    const { tenant_id, epoch, size } = log
    const origin = writeOrigin({ name, tenant_id, epoch })
    const root = known.find((head) => head.origin === origin)?.root ?? (await verifiedRoot(tx, log))
    if (!root) throw new NotRemovable(ALTERED)
    heads.push({ origin, size, root: root.toString('base64') })
  }
  return heads
}
