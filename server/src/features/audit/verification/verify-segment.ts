/** Verifies a segment of a log: its entries against its leaves, and its tiles against the tiles above and the last head. */
import {
  HASH_BYTES,
  perfectRoot,
  TILE_HEIGHT,
  TILE_WIDTH,
  type TilePlace,
  Tiles,
  tilesForRoot,
  widthOf,
} from '../../../lib/merkle/tree.ts'
import type { TenantTx } from '../../../platform/db/index.ts'
import {
  type Block,
  compareBlock,
  type Finding,
  type Findings,
  leavesIn,
  type Orders,
  openOrders,
  writeOrigin,
} from '../offline/index.ts'
import { findBeyond, findInserted } from '../transparency/find-inserted.ts'
import { ERASED, PRUNED } from '../transparency/leaf.ts'
import { type LogRow, loadTiles } from '../transparency/logs.store.ts'
import { findStoredLog, type LeafRow, listOrders } from '../transparency/read-log.store.ts'
import { readBlocks, type StoredBlock } from '../transparency/read-log.ts'
import { storedRoot } from '../transparency/verified-root.ts'
import { itemOfRow } from '../transparency/verify-log.ts'
import { findForged } from './find-forged.ts'

/** The leaves of a segment. They begin with a tile. */
export interface Segment {
  first: number
  end: number
  /** The number of leaves that the log had when it was verified before. */
  knownSize: number
  /** The journal from this time on was already compared. Null at the beginning of a pass. */
  coveredFrom: string | null
}

/**
 * Verifies a segment in one snapshot. Changes nothing. Returns the time from which on the journal has been compared with
 * the leaves, or null if no leaf is left.
 */
export async function verifySegment(
  tx: TenantTx,
  log: Pick<LogRow, 'tenant_id' | 'epoch'>,
  segment: Segment,
  findings: Findings,
): Promise<string | null> {
  const add = adderFor(log, findings)
  const row = (await findStoredLog(tx, log)) ?? deletedLog(log)
  if (row.size < segment.knownSize)
    add('rolled_back', null, `it has ${row.size} entries, but had ${segment.knownSize} before`)
  // Includes the rest of the last tile, because the tile above has the root of whole tiles.
  const end = Math.min(row.size, Math.ceil(segment.end / TILE_WIDTH) * TILE_WIDTH)
  const first = Math.min(segment.first, end)
  const tiles = await loadEdge(tx, row, first, end)
  compareHead(tiles, row, add)
  const compare = compareBlock(row.tenant_id, first, findings)
  let from: string | null = null
  let hasErased = false
  for await (const block of readBlocks(tx, row, first, end)) {
    compareTile(tiles, row, block, add)
    const items = block.rows.map(itemOfRow)
    if (block.hashes.length > 0) compare.append({ first: block.first, hashes: block.hashes, items })
    await verifyMarks(tx, block, items, add)
    hasErased ||= items.some(({ fault }) => fault === 'erased')
    for (const { created_at } of block.rows)
      if (from === null || created_at < from) from = created_at
  }
  const erasures = hasErased ? await findOrders(tx, ERASED, row, first, end) : openOrders()
  const prunings =
    first < row.pruned_size ? await findOrders(tx, PRUNED, row, first, end) : openOrders()
  compare.finish({
    erased: (spans) => erasures.unordered(originOf(row), spans),
    pruned: (spans) => prunings.unordered(originOf(row), spans),
  })
  compareUpperTiles(tiles, row, first, end, add)
  const until = segment.coveredFrom
  const covered = first === 0 ? null : earlier(from, until)
  const span = { ...(covered ? { from: covered } : {}), ...(until ? { until } : {}) }
  await findInserted(tx, row, span, findings)
  if (until === null) await findBeyond(tx, row, findings)
  return covered
}

/** A log whose row was deleted. */
const deletedLog = (log: Pick<LogRow, 'tenant_id' | 'epoch'>): LogRow => ({
  ...log,
  size: 0,
  head_size: 0,
  head_root: null,
  checkpoint: null,
  ended_at: null,
  pruned_size: 0,
})

/** Names a log among those of the installation. */
const originOf = ({ tenant_id, epoch }: Pick<LogRow, 'tenant_id' | 'epoch'>): string =>
  writeOrigin({ name: '', tenant_id, epoch })

/** Reads the orders about leaves of a segment. */
async function findOrders(
  tx: TenantTx,
  action: typeof ERASED | typeof PRUNED,
  log: LogRow,
  first: number,
  end: number,
): Promise<Orders> {
  const orders = openOrders()
  for (const changes of await listOrders(tx, action, log, first, end))
    orders.add(originOf(log), leavesIn(changes))
  return orders
}

const earlier = (one: string | null, other: string | null): string | null =>
  one !== null && other !== null && other < one ? other : (one ?? other)

type Add = (
  kind: Finding['kind'],
  index: number | null,
  detail: string,
  entryId?: number | null,
) => void

const adderFor =
  ({ tenant_id }: Pick<LogRow, 'tenant_id'>, findings: Findings): Add =>
  (kind, index, detail, entry_id = null) =>
    findings.add({ kind, tenant_id, index, entry_id, detail })

/** The number of leaves below a hash in a tile of a level. */
const leavesBelow = (level: number): number => 2 ** (TILE_HEIGHT * level)

/** Returns the places of the tiles above leaves, without level 0. */
function tilesAbove(first: number, end: number, size: number): TilePlace[] {
  const places: TilePlace[] = []
  for (let level = 1; widthOf({ level, index: 0 }, size) > 0 && end > first; level += 1) {
    const last = Math.floor((end - 1) / leavesBelow(level + 1))
    for (let index = Math.floor(first / leavesBelow(level + 1)); index <= last; index += 1)
      if (widthOf({ level, index }, size) > 0) places.push({ level, index })
  }
  return places
}

/** Loads the tiles above a segment, and the right edges of the log and of its last head. */
async function loadEdge(tx: TenantTx, row: LogRow, first: number, end: number): Promise<Tiles> {
  const { tenant_id, epoch, size, head_size } = row
  const places = [...tilesAbove(first, end, size), ...tilesForRoot(Math.min(head_size, size))]
  const wanted = places.map((place) => ({ tenant_id, epoch, ...place }))
  return (await loadTiles(tx, wanted)).get(tenant_id) ?? new Tiles()
}

/** Compares the root of the leaves below the last head with this head, which was signed or anchored. */
function compareHead(tiles: Tiles, { size, head_size, head_root }: LogRow, add: Add): void {
  if (head_size > size)
    add('rolled_back', null, `it has ${size} entries, but its last head has ${head_size}`)
  else if (head_root !== null && !storedRoot(tiles, head_size)?.equals(head_root))
    add('forked', null, `the first ${head_size} leaves do not lead to its last head`)
}

/** Compares the root of a whole tile with the tile above it. */
function compareWithParent(
  tiles: Tiles,
  { level, index }: TilePlace,
  hashes: Buffer,
  add: Add,
): void {
  const parent = { level: level + 1, index: Math.floor(index / TILE_WIDTH) }
  const at = (index % TILE_WIDTH) * HASH_BYTES
  const expected = tiles.get(parent)?.subarray(at, at + HASH_BYTES)
  if (expected && !perfectRoot(hashes).equals(expected))
    add(
      'changed',
      index * leavesBelow(level + 1),
      `the tile ${level}/${index} does not lead to the tile above it`,
    )
}

function compareTile(tiles: Tiles, row: LogRow, { first, hashes }: StoredBlock, add: Add): void {
  const place = { level: 0, index: first / TILE_WIDTH }
  if (hashes.length === 0) add('changed', first, `the tile of the leaves from ${first} is missing`)
  else if (widthOf(place, row.size) === TILE_WIDTH) compareWithParent(tiles, place, hashes, add)
}

function compareUpperTiles(tiles: Tiles, row: LogRow, first: number, end: number, add: Add): void {
  for (const place of tilesAbove(first, end, row.size)) {
    const { level, index } = place
    const width = widthOf(place, row.size)
    const hashes = tiles.get(place)?.subarray(0, width * HASH_BYTES)
    if (hashes?.length !== width * HASH_BYTES)
      add('changed', index * leavesBelow(level + 1), `the tile ${level}/${index} is missing or cut`)
    else if (width === TILE_WIDTH) compareWithParent(tiles, place, hashes, add)
  }
}

/** Reports entries that the service did not write, although they are sealed. */
async function verifyMarks(
  tx: TenantTx,
  { first, hashes, rows }: StoredBlock,
  items: Block['items'],
  add: Add,
): Promise<void> {
  const isIntact = ({ index }: LeafRow, at: number) => {
    const place = (index - first) * HASH_BYTES
    return items[at]?.hash?.equals(hashes.subarray(place, place + HASH_BYTES)) === true
  }
  const intact = rows.filter((row, at) => row.mark === 'ok' && isIntact(row, at))
  const suspects = [...rows.filter(({ mark }) => mark === 'bad'), ...(await findForged(tx, intact))]
  for (const { index, entry_id } of suspects)
    add('not_written_by_service', index, 'the proof of its origin is invalid', entry_id)
}
