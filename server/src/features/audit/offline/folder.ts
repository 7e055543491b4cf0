/**
 * Reads an exported folder: a static log as C2SP tlog-tiles describes it, our verifier key, and a file with the personal
 * fields that the entries contain only as commitments.
 */
import { access, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readCheckpoint } from '../../../lib/merkle/checkpoint.ts'
import { entriesPath, tilePath } from '../../../lib/merkle/tile-paths.ts'
import { type BuiltTile, openTileStream } from '../../../lib/merkle/tile-stream.ts'
import { HASH_BYTES, leafHash, TILE_WIDTH } from '../../../lib/merkle/tree.ts'
import { whatCommitment, whoCommitment } from '../../../platform/journal/index.ts'
import { PRUNED } from '../transparency/leaf.ts'
import type { Block, Item } from './compare-block.ts'
import {
  type ExportHeader,
  evidenceOf,
  isBlank,
  type PersonalFields,
  parseLine,
  parsePersonal,
} from './export-format.ts'
import { type LineReader, openLines } from './file-reader.ts'
import { type Findings, Uncheckable } from './findings.ts'
import { readSmall } from './kept-heads.ts'
import { blockEnd } from './log-verifier.ts'

export const CHECKPOINT_FILE = 'checkpoint'
export const KEY_FILE = 'key'
export const PERSONAL_FILE = 'personal.jsonl'

/** Returns the folders of the logs in a folder: the folder itself, or those in it. @throws Uncheckable without any */
export async function findLogFolders(path: string): Promise<string[]> {
  const isLog = (folder: string) =>
    access(join(folder, CHECKPOINT_FILE)).then(
      () => true,
      () => false,
    )
  if (await isLog(path)) return [path]
  const found: string[] = []
  const names = (await readdir(path)).toSorted((a, b) => Number(a) - Number(b))
  for (const name of names) if (await isLog(join(path, name))) found.push(join(path, name))
  if (found.length === 0)
    throw new Uncheckable(`${path}: Neither the folder nor one in it has a file "checkpoint".`)
  return found
}

/** Reads what the header of an exported file has. The signature of the head is not verified yet. */
export async function readFolderHeader(folder: string): Promise<ExportHeader> {
  const checkpoint = await readSmall(join(folder, CHECKPOINT_FILE))
  const key = await readSmall(join(folder, KEY_FILE)).catch(ifMissing(''))
  try {
    const { origin, size } = readCheckpoint(checkpoint)
    return { origin, key, checkpoint, size, first: 0, end: size, left: [], right: [] }
  } catch (error) {
    throw new Uncheckable(`${join(folder, CHECKPOINT_FILE)}: ${(error as Error).message}`)
  }
}

const ifMissing =
  <T>(value: T) =>
  (error: NodeJS.ErrnoException): T => {
    if (error.code === 'ENOENT') return value
    throw error
  }

/** The maximum size of the entries below a tile: 256 entries of 65,535 bytes. */
const MAX_BUNDLE_BYTES = TILE_WIDTH * (2 + 65_535)

/** Reads a file of a log. @throws Uncheckable if it is missing or too large */
async function readPart(path: string, maxBytes: number): Promise<Buffer> {
  const bytes = await readFile(path).catch(ifMissing(undefined))
  if (!bytes) throw new Uncheckable(`${path}: The file is missing.`)
  if (bytes.length > maxBytes) throw new Uncheckable(`${path}: The file is too large.`)
  return bytes
}

/** Yields the tiles of a log with their entries, and compares all other tiles with those that they give. */
export async function* folderBlocks(
  folder: string,
  { end }: ExportHeader,
  onDifference: (path: string) => void,
): AsyncGenerator<Block> {
  const personal = await openPersonal(join(folder, PERSONAL_FILE))
  const tiles = openTileStream()
  const compare = async (built: readonly BuiltTile[]) => {
    for (const tile of built) {
      if (tile.level === 0) continue
      const path = join(folder, tilePath(tile))
      if (!(await readPart(path, TILE_WIDTH * HASH_BYTES)).equals(tile.hashes)) onDifference(path)
    }
  }
  try {
    for (let first = 0; first < end; first = blockEnd(first, end)) {
      const width = blockEnd(first, end) - first
      const place = { level: 0, index: first / TILE_WIDTH, width }
      const hashes = await readPart(join(folder, tilePath(place)), TILE_WIDTH * HASH_BYTES)
      if (hashes.length !== width * HASH_BYTES)
        throw new Uncheckable(`${join(folder, tilePath(place))}: The file has another length.`)
      const path = join(folder, entriesPath(place))
      const contents = entriesOf(await readPart(path, MAX_BUNDLE_BYTES), width, path)
      const items: Item[] = []
      for (const [at, content] of contents.entries())
        items.push(itemOf(content, first + at, await personal?.of(first + at)))
      yield { first, hashes, items }
      await compare(tiles.append(leavesOf(hashes)))
    }
    await compare(tiles.partial())
  } finally {
    await personal?.close()
  }
}

const leavesOf = (hashes: Buffer): Buffer[] =>
  Array.from({ length: hashes.length / HASH_BYTES }, (_, at) =>
    hashes.subarray(at * HASH_BYTES, (at + 1) * HASH_BYTES),
  )

/** Splits entries, each after its length in two bytes. @throws Uncheckable if they are not as many as the tile has */
function entriesOf(bytes: Buffer, width: number, path: string): Buffer[] {
  const entries: Buffer[] = []
  let at = 0
  while (at + 2 <= bytes.length) {
    const end = at + 2 + bytes.readUInt16BE(at)
    entries.push(bytes.subarray(at + 2, end))
    at = end
  }
  if (at !== bytes.length || entries.length !== width)
    throw new Uncheckable(`${path}: The file is cut or has another number of entries.`)
  return entries
}

/** Returns the item of an entry. @param fields undefined if the folder does not have the fields of the entry */
function itemOf(content: Buffer, index: number, fields: PersonalFields | null | undefined): Item {
  const missing = { index, id: null, created_at: null, mark: null, salt: null, hash: null }
  if (content.length === 0) return { ...missing, fault: 'removed' }
  const leaf = parseLeaf(content)
  if (!leaf) return { ...missing, hash: leafHash(content), fault: null }
  const { id, created_at, mark } = leaf
  const evidence = evidenceOf({ index, action: leaf.action, changes: fields?.changes ?? null })
  const item = {
    index,
    id,
    created_at,
    mark,
    salt: fields?.who_salt ?? null,
    ...(evidence
      ? { evidence: { ...evidence, lacksFields: fields === undefined && leaf.action === PRUNED } }
      : {}),
  }
  if (fields === undefined) return { ...item, hash: leafHash(content), fault: null }
  const isErased = fields?.who_salt === null || fields?.what_salt === null
  if (fields && isErased && fields.id === id && isBlank(fields))
    return { ...item, hash: leafHash(content), fault: 'erased' }
  return fields && isCommitted(fields, leaf)
    ? { ...item, hash: leafHash(content), fault: null }
    : { ...item, hash: null, fault: 'changed' }
}

interface Leaf {
  id: number
  action: string
  created_at: string
  mark: string
  who: string
  what: string
}

function parseLeaf(content: Buffer): Leaf | undefined {
  try {
    return parseLine(content.toString(), '') as unknown as Leaf
  } catch {
    // A leaf of another program. Its hash is compared all the same.
    return undefined
  }
}

function isCommitted(fields: PersonalFields, leaf: Leaf): boolean {
  const { id, who_salt: who, what_salt: what } = fields
  try {
    return (
      id === leaf.id &&
      who !== null &&
      what !== null &&
      whoCommitment(fields, who) === leaf.who &&
      whatCommitment(fields, what) === leaf.what
    )
  } catch {
    // Text that no database can contain, such as half a surrogate pair.
    return false
  }
}

/** Opens the file with the personal fields. Returns undefined if it was left out, so that only leaves are verified. */
async function openPersonal(path: string) {
  const isThere = await access(path).then(() => true, ifMissing(false))
  if (!isThere) return undefined
  const reader: LineReader = openLines(path)
  let ahead: PersonalFields | undefined
  const advance = async () => {
    const line = await reader.next()
    ahead = line === undefined ? undefined : parsePersonal(line, reader.where())
  }
  await advance()
  return {
    /** Returns the fields of a leaf, or null if they are missing. Indexes must rise from call to call. */
    async of(index: number): Promise<PersonalFields | null> {
      while (ahead && ahead.index < index) await advance()
      const found = ahead?.index === index ? ahead : null
      if (found) await advance()
      return found
    },
    close: reader.close,
  }
}

/** Adds a finding for a tile that differs from the tile that the leaves give. */
export const tileDifference = (findings: Findings, tenant_id: number) => (path: string) =>
  findings.add({
    kind: 'changed',
    tenant_id,
    index: null,
    entry_id: null,
    detail: `the tile ${path} is not the one that the leaves give`,
  })
