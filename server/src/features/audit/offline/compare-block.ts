/** Compares the entries of a log with the hashes of its leaves, block by block, and names the kind of each difference. */
import type { Checkpoint } from '../../../lib/merkle/checkpoint.ts'
import { HASH_BYTES } from '../../../lib/merkle/tree.ts'
import type { Finding, Findings } from './findings.ts'
import { addToSpans, type LeafSpan, type Order } from './orders.ts'

/** An entry as it was found. */
export interface Item {
  /** The index at which the entry claims to be. */
  index: number
  id: number | null
  created_at: string | null
  mark: string | null
  /** The salt of the commitment `who`. Null if it is not known. */
  salt: Buffer | null
  /** The hash of the leaf that the entry gives. Null if the entry is not whole. */
  hash: Buffer | null
  /** The reason why the entry is not whole. */
  fault: 'changed' | 'erased' | 'removed' | null
  /** The evidence about other entries and logs. */
  evidence?: EntryEvidence
}

/** The evidence of an entry about other entries and logs. */
export interface EntryEvidence {
  /** The heads of earlier epochs. */
  confirms: readonly Checkpoint[]
  /** The leaves whose personal fields were erased by this order. */
  erased: readonly Order[]
  /** The leaves whose entries were removed by this order. */
  pruned: readonly Order[]
  /** The heads of other logs that the entry anchors. */
  anchors: readonly Anchor[]
  /** Whether an epoch may begin with this entry. */
  beginsEpoch: boolean
  /** Whether the entry is an order whose fields the export lacks. */
  lacksFields?: boolean
}

/** The size and root of a log in an anchor. */
export interface Anchor extends Pick<Checkpoint, 'size' | 'root'> {
  tenant_id: number
  epoch: number
}

/** Consecutive leaves of a log: the hashes that the tree has, and the entries that were found for them. */
export interface Block {
  first: number
  hashes: Buffer
  items: readonly Item[]
}

/** The maximum number of lost and unexpected hashes that are remembered, to find entries that moved to another block. */
const MAX_REMEMBERED = 1_000

/** @param first the index at which the part begins */
export function compareBlock(tenant_id: number, first: number, findings: Findings) {
  /** The findings of removed and inserted entries by the hash that the tree, or the entry, has. */
  const removed = new Map<string, Finding>()
  const inserted = new Map<string, Finding>()
  let lastIndex = -1
  /** The leaves whose fields are gone, and the ids of the first ones. */
  const erased: LeafSpan[] = []
  const erasedIds = new Map<number, number | null>()
  /** The number of leaves at the beginning that have no entry, with the ids and hashes of the first ones. */
  let missingCount = 0
  const missingLeaves = new Map<number, { id: number | null; hash: Buffer }>()

  function add(kind: Finding['kind'], index: number, id: number | null, detail: string): Finding {
    const finding = { kind, tenant_id, index, entry_id: id, detail }
    findings.add(finding)
    return finding
  }
  const remember = (map: Map<string, Finding>, hash: Buffer | null, finding: Finding) => {
    if (hash && map.size < MAX_REMEMBERED) map.set(hash.toString('base64'), finding)
  }
  function eraseAt(index: number, id: number | null): void {
    addToSpans(erased, index)
    if (erasedIds.size < MAX_REMEMBERED) erasedIds.set(index, id)
  }
  const reportRemoved = (index: number, id: number | null, hash: Buffer) =>
    remember(removed, hash, add('removed', index, id, DETAILS.removed))
  function addMissing(index: number, id: number | null, hash: Buffer): void {
    if (index !== first + missingCount) reportRemoved(index, id, hash)
    else {
      missingCount += 1
      if (missingLeaves.size < MAX_REMEMBERED)
        missingLeaves.set(index, { id, hash: Buffer.from(hash) })
    }
  }
  /** Reports entries at the beginning that no order has removed. */
  function reportMissing(unordered: FindUnordered): void {
    const last = first + missingCount - 1
    for (const index of unordered(missingCount > 0 ? [[first, last]] : [])) {
      if (first === 0)
        return void add(
          'pruned',
          index,
          null,
          `the entries of the leaves ${index} to ${last} are missing`,
        )
      const { id, hash } = missingLeaves.get(index) ?? {}
      if (hash) reportRemoved(index, id ?? null, hash)
      else add('removed', index, null, DETAILS.removed)
    }
  }

  /** Returns each found entry by its place, and the ids of those that are known to be lost. */
  function placesOf(block: Block) {
    const { hashes, first: start } = block
    const count = hashes.length / HASH_BYTES
    const found = new Array<Item | undefined>(count)
    const lostIds = new Map<number, number | null>()
    const fits = ({ hash }: Item, at: number) =>
      hash !== null && hash.compare(hashes, at * HASH_BYTES, (at + 1) * HASH_BYTES) === 0
    const isFree = (at: number) => at >= 0 && at < count && !found[at]
    const atItsPlace = (item: Item) => {
      const at = item.index - start
      if (!isFree(at) || !fits(item, at)) return false
      found[at] = item
      if (item.index < lastIndex)
        add('reordered', item.index, item.id, `it stands after index ${lastIndex}`)
      else lastIndex = item.index
      return true
    }
    const atAnotherPlace = (item: Item) => {
      const at = item.hash ? [...found.keys()].find((one) => isFree(one) && fits(item, one)) : null
      if (at === undefined || at === null) return false
      found[at] = item
      add('reordered', item.index, item.id, `the tree has it at index ${start + at}`)
      return true
    }
    const strays = block.items.filter((item) => !atItsPlace(item))
    for (const item of strays.filter((stray) => !atAnotherPlace(stray))) {
      const at = item.index - start
      if (!isFree(at))
        remember(inserted, item.hash, add('inserted', item.index, item.id, DETAILS.inserted))
      else if (item.fault === 'removed') lostIds.set(at, item.id)
      else {
        found[at] = item
        differ(item, hashes.subarray(at * HASH_BYTES, (at + 1) * HASH_BYTES))
      }
    }
    return { found, lostIds }
  }

  function differ(item: Item, expected: Buffer): void {
    const isErased = item.fault === 'erased' && item.hash === null
    const kind = isErased ? 'erased' : 'changed'
    const finding = add(kind, item.index, item.id, DETAILS[kind])
    if (kind === 'erased') return
    remember(removed, expected, finding)
    remember(inserted, item.hash, finding)
  }

  return {
    append(block: Block): void {
      const { found, lostIds } = placesOf(block)
      for (const [at, item] of found.entries()) {
        const index = block.first + at
        if (item?.fault === 'erased' && item.hash) eraseAt(index, item.id)
        if (!item)
          addMissing(
            index,
            lostIds.get(at) ?? null,
            block.hashes.subarray(at * HASH_BYTES, (at + 1) * HASH_BYTES),
          )
      }
    },

    /**
     * Names entries that moved from one block to another, and those that were erased or removed without an order.
     */
    finish(unordered: { erased: FindUnordered; pruned: FindUnordered }): void {
      reportMissing(unordered.pruned)
      for (const index of unordered.erased(erased))
        add('erased', index, erasedIds.get(index) ?? null, DETAILS.erased)
      for (const [hash, finding] of inserted) {
        const lost = removed.get(hash)
        if (!lost || lost === finding) continue
        finding.kind = 'reordered'
        finding.detail = `the tree has it at index ${lost.index}`
        if (lost.kind === 'removed' || lost.kind === 'changed') lost.kind = 'reordered'
      }
    },
  }
}

/** Returns the indexes of leaves that no order names. */
type FindUnordered = (spans: readonly LeafSpan[]) => Iterable<number>

const DETAILS = {
  inserted: 'the tree has no leaf for it',
  changed: 'its fields do not lead to its leaf',
  erased: 'its fields are gone',
  removed: 'the tree has its leaf, but the entry is missing',
}
