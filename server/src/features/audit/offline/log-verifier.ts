/**
 * Verifies one log: compares its entries with the hashes of its leaves, and these hashes with signed heads. Reads the
 * log once, in blocks, in flat memory. A second pass is only needed if salts seem to be repeated.
 */
import type { Checkpoint } from '../../../lib/merkle/checkpoint.ts'
import { CompactRange, subtreesOf } from '../../../lib/merkle/range.ts'
import { HASH_BYTES, TILE_WIDTH } from '../../../lib/merkle/tree.ts'
import { type Block, compareBlock, type Item } from './compare-block.ts'
import { type Findings, Uncheckable } from './findings.ts'
import { type Orders, openOrders } from './orders.ts'
import { readOrigin, writeOrigin } from './origin.ts'
import { openSaltFilter } from './repeated-salts.ts'

/** The part of a log to verify. A part that does not begin or end with the log needs the hashes around it. */
export interface LogPart {
  origin: string
  tenantId: number
  /** The number of leaves of the whole log. */
  size: number
  first: number
  end: number
  /** The hashes of `subtreesOf(0, first)`. */
  left: readonly Buffer[]
  /** The hashes of `subtreesOf(end, size)`. */
  right: readonly Buffer[]
}

/** A signed head whose signature was verified. */
export interface KnownHead extends Checkpoint {
  /** Names the head in reports, such as the path of its file. */
  name: string
}

/** The difference of two times from which on an entry is late. Transactions take at most minutes. */
const LATE_MS = 3_600_000

/** The evidence about other logs in the logs verified so far. Logs of later epochs come first. */
export interface SharedEvidence {
  formerHeads: KnownHead[]
  erasures: Orders
  prunings: Orders
  /** The tenants with a partial log, which may lack orders. The keys are those of `tenantOf`. */
  partial: Set<string>
  /** The tenants whose export lacks the fields of orders. */
  withoutFields: Set<string>
  /** The last anchor of each log, by its origin. The log of the platform comes first. */
  anchors: Map<string, KnownHead>
}

export const openSharedEvidence = (): SharedEvidence => ({
  formerHeads: [],
  erasures: openOrders(),
  prunings: openOrders(),
  partial: new Set(),
  withoutFields: new Set(),
  anchors: new Map(),
})

/**
 * Verifies a part of a log. @param blocks returns the blocks from the beginning, each time it is called
 * @param shared receives what the entries show about other logs
 * @throws Uncheckable if the part is incomplete
 */
export async function verifyLog(
  part: LogPart,
  heads: readonly KnownHead[],
  blocks: () => AsyncIterable<Block>,
  findings: Findings,
  shared: SharedEvidence,
): Promise<void> {
  const { tenantId: tenant_id, origin, size, first, end } = part
  const known = [...heads, ...evidenceFor(origin, shared)]
  const roots = openRoots(part, known, findings)
  const salts = openSaltFilter()
  const entries = openEntries(part, findings)
  for await (const block of blocks()) {
    roots.append(block)
    entries.append(block)
    for (const item of block.items) {
      if (item.salt) salts.add(item.salt)
      // Entries that the service did not write prove nothing.
      if (item.mark === 'ok') addEvidence(origin, item, shared)
    }
    if (block.first === 0) requireBeginning(part, block, findings)
  }
  const tenant = tenantOf(origin)
  if (end !== size) shared.partial.add(tenant)
  entries.finish({
    erased(spans) {
      if (!shared.partial.has(tenant)) return shared.erasures.unordered(origin, spans)
      if (spans.length > 0)
        findings.note(`${origin}: the orders of its erased entries may follow after this part.`)
      return []
    },
    pruned(spans) {
      if (!shared.withoutFields.has(tenant)) return shared.prunings.unordered(origin, spans)
      if (spans.length > 0)
        findings.report.unchecked.push(
          `${origin}: its first entries are missing. The orders for this are in personal.jsonl, which the folder lacks.`,
        )
      return []
    },
  })
  const compared = roots.finish()
  if (salts.suspects.size > 0) await findCopies(part, salts.suspects, blocks, findings)
  if (salts.isOverfull()) findings.note(`${origin}: some copied entries may not be listed.`)
  findings.report.logs.push({ origin, tenant_id, size, first, end, heads: compared })
}

/** Returns a key for the tenant of a log, unique across installations. */
const tenantOf = (origin: string): string => {
  const { name, tenant_id } = readOrigin(origin)
  return `${name}/${tenant_id}`
}

/** Returns the heads of a log that other logs have shown. */
const evidenceFor = (origin: string, { formerHeads, anchors }: SharedEvidence): KnownHead[] => {
  const anchor = anchors.get(origin)
  return [...formerHeads.filter((head) => head.origin === origin), ...(anchor ? [anchor] : [])]
}

/** Adds what an entry shows about other logs, and about other entries of its log. */
function addEvidence(
  origin: string,
  { evidence, id }: Item,
  { formerHeads, erasures, prunings, withoutFields, anchors: known }: SharedEvidence,
): void {
  if (!evidence) return
  if (evidence.lacksFields) withoutFields.add(tenantOf(origin))
  const { confirms, erased, pruned, anchors } = evidence
  for (const head of confirms)
    formerHeads.push({ ...head, name: `in the entry ${id} of ${origin}` })
  if (erased.length > 0) erasures.add(origin, erased)
  if (pruned.length > 0) prunings.add(origin, pruned)
  const { name } = readOrigin(origin)
  for (const { tenant_id, epoch, size, root } of anchors) {
    const of = writeOrigin({ name, tenant_id, epoch })
    known.set(of, { origin: of, size, root, name: `in the anchor ${id}` })
  }
}

/** Reports a later epoch that begins with another entry than the one that names the epoch before. */
function requireBeginning(
  { origin, tenantId }: LogPart,
  { items }: Block,
  findings: Findings,
): void {
  const first = items.find(({ index }) => index === 0)
  // A first entry that is missing is a finding of its own, unless it was removed by an order.
  if (!first || first.fault === 'removed') return
  const isBegun = first.evidence?.beginsEpoch === true && first.mark === 'ok'
  if (readOrigin(origin).epoch > 1 && !isBegun)
    findings.add({
      kind: 'forked',
      tenant_id: tenantId,
      index: 0,
      entry_id: null,
      detail: 'its first entry does not name the log that it continues',
    })
}

/** Compares the entries with the hashes of the leaves, and with each other. */
function openEntries({ tenantId, origin, first }: LogPart, findings: Findings) {
  const compare = compareBlock(tenantId, first, findings)
  let before: number | undefined
  const examine = ({ index, id, created_at, mark }: Item) => {
    if (mark === 'bad')
      findings.add({
        kind: 'not_written_by_service',
        tenant_id: tenantId,
        index,
        entry_id: id,
        detail: 'the proof of its origin is invalid',
      })
    const at = Date.parse(created_at ?? '')
    if (before !== undefined && before - at > LATE_MS)
      findings.note(
        `${origin}: entry ${id} at index ${index} is late: its time is ${created_at}, but the entry before it is of ${new Date(before).toISOString()}.`,
      )
    if (!Number.isNaN(at)) before = at
  }
  return {
    append(block: Block) {
      for (const item of block.items) examine(item)
      compare.append(block)
    },
    finish: compare.finish,
  }
}

/** Computes the roots of the log from the hashes of its leaves, and compares them with those of signed heads. */
function openRoots(part: LogPart, heads: readonly KnownHead[], findings: Findings) {
  const { tenantId: tenant_id, origin, size, first, end, left, right } = part
  if (left.length !== subtreesOf(0, first).length || right.length !== subtreesOf(end, size).length)
    throw new Uncheckable(`${origin}: the hashes around the exported entries are incomplete.`)
  const range = CompactRange.of(first, left)
  const waiting = heads.toSorted((a, b) => a.size - b.size)
  let compared = 0
  const add = (kind: 'forked' | 'rolled_back', detail: string) =>
    findings.add({ kind, tenant_id, index: null, entry_id: null, detail })

  const compare = (head: KnownHead, root: Buffer) => {
    compared += 1
    if (!root.equals(head.root))
      add('forked', `the first ${head.size} leaves do not lead to the head ${head.name}`)
  }
  const unreachable = ({ name, size: of }: KnownHead) =>
    findings.report.unchecked.push(
      `${name}: a head of ${of} entries cannot be compared with an export of the entries ${first} to ${end - 1}.`,
    )
  /** Compares the heads whose size is reached. */
  const compareReached = () => {
    for (let [head] = waiting; head && head.size <= range.size; [head] = waiting) {
      waiting.shift()
      if (head.size < range.size) unreachable(head)
      else compare(head, range.root())
    }
  }
  compareReached()
  return {
    append({ first: at, hashes }: Block) {
      if (at !== range.size) throw new Uncheckable(`${origin}: the leaf ${range.size} is missing.`)
      for (let done = 0; done < hashes.length; ) {
        const [next] = waiting
        const until = next ? (next.size - at) * HASH_BYTES : hashes.length
        const to = Math.min(until, hashes.length)
        range.appendLeaves(hashes.subarray(done, to))
        done = to
        compareReached()
      }
    },
    finish(): number {
      if (range.size !== end)
        throw new Uncheckable(
          `${origin}: it ends after ${range.size} leaves instead of ${end}. It was cut.`,
        )
      for (const head of waiting) {
        if (head.size > size) {
          compared += 1
          add('rolled_back', `it has ${size} entries, but the head ${head.name} has ${head.size}`)
        } else if (head.size === size) compare(head, range.rootWith(size, right))
        else unreachable(head)
      }
      return compared
    },
  }
}

/** Reads the log again, and reports each entry whose salt appeared before. */
async function findCopies(
  { tenantId: tenant_id }: LogPart,
  suspects: ReadonlySet<string>,
  blocks: () => AsyncIterable<Block>,
  findings: Findings,
): Promise<void> {
  const firsts = new Map<string, number>()
  for await (const { items } of blocks())
    for (const { salt, index, id } of items) {
      const text = salt?.toString('base64')
      if (text === undefined || !suspects.has(text)) continue
      const original = firsts.get(text)
      if (original === undefined) firsts.set(text, index)
      else
        findings.add({
          kind: 'copied',
          tenant_id,
          index,
          entry_id: id,
          detail: `it has the salt of the entry at index ${original}`,
        })
    }
}

/** Returns the end of the block at an index. Blocks are the tiles of level 0. */
export const blockEnd = (index: number, end: number): number =>
  Math.min(end, (Math.floor(index / TILE_WIDTH) + 1) * TILE_WIDTH)
