/** The journal consumer that adds every entry, accesses too, to the transparency log of its tenant. */
import { appendLeaves, leafHash, Tiles, tilesForRoot } from '../../../lib/merkle/tree.ts'
import type { TenantTx } from '../../../platform/db/index.ts'
import {
  type ConsumerOptions,
  commitmentsOf,
  type JournalEntry,
  newSalts,
} from '../../../platform/journal/index.ts'
import { EPOCH_STARTED, ERASED, leafContent, PRUNED, SEALER_NAME } from './leaf.ts'
import * as store from './logs.store.ts'
import type { AuditTilesTable } from './transparency.table.ts'
import { openMarks, saltsOf } from './verify-marks.ts'

export const SEALER: ConsumerOptions = {
  name: SEALER_NAME,
  includesAccesses: true,
  async handle(tx, entries) {
    await sealEntries(tx, await withoutSealed(tx, entries))
  },
}

const SEALED_AT_ONCE: ReadonlySet<string> = new Set([EPOCH_STARTED, ERASED, PRUNED])

/** Returns the entries without those that are sealed when they are written. */
async function withoutSealed(tx: TenantTx, entries: JournalEntry[]): Promise<JournalEntry[]> {
  const candidates = entries.filter(({ action }) => SEALED_AT_ONCE.has(action))
  const sealed = new Set(await store.listSealed(tx, candidates))
  return entries.filter(({ id }) => !sealed.has(id))
}

/**
 * Adds entries to the logs of their tenants, in the order of the journal. It signs nothing: leaves and tiles commit
 * together with the position of the consumer, so each entry is sealed exactly once.
 */
export async function sealEntries(tx: TenantTx, entries: readonly JournalEntry[]): Promise<void> {
  if (entries.length === 0) return
  const batch = entries.map((entry) => {
    const salts = saltsOf(entry) ?? newSalts()
    return { entry, salts, commitments: commitmentsOf(entry, salts) }
  })
  const byTenant = Map.groupBy(batch, ({ entry }) => entry.tenant_id ?? store.PLATFORM_LOG)
  const [logs, verifyMark] = await Promise.all([
    store.openLogs(tx, [...byTenant.keys()]),
    openMarks(tx, batch),
  ])
  const edges = logs.flatMap(({ tenant_id, epoch, size }) =>
    tilesForRoot(size).map((place) => ({ tenant_id, epoch, ...place })),
  )
  const [tilesOf, lastSealed] = await Promise.all([
    store.loadTiles(tx, edges),
    store.findLastSealed(tx, logs),
  ])
  const newLeaves: store.NewLeaf[] = []
  const newTiles: AuditTilesTable[] = []
  for (const log of logs) {
    const { tenant_id, epoch, size } = log
    const added = byTenant.get(tenant_id) ?? []
    const last = lastSealed.get(tenant_id) ?? null
    const hashes = added.map((input, at) => {
      const { entry, salts, commitments } = input
      const mark = verifyMark(input, last)
      const { id: entry_id, created_at } = entry
      const stored = { who_salt: salts.who, what_salt: salts.what, mark }
      newLeaves.push({ tenant_id, epoch, index: size + at, entry_id, created_at, ...stored })
      return leafHash(leafContent(entry, commitments, mark))
    })
    const tiles = tilesOf.get(tenant_id) ?? new Tiles()
    for (const { place, hashes: bytes } of appendLeaves(tiles, size, hashes))
      newTiles.push({ tenant_id, epoch, ...place, hashes: bytes })
    log.size = size + added.length
  }
  store.writeSealed(tx, newLeaves, newTiles, logs)
}
