/**
 * The format of exported logs. A file has lines of JSON: for each log a header, then for each tile of leaf hashes a line
 * followed by its entries, then a last line.
 */

import type { Checkpoint } from '../../../lib/merkle/checkpoint.ts'
import { HASH_BYTES, leafHash } from '../../../lib/merkle/tree.ts'
import { SALT_BYTES, type WhoFields } from '../../../platform/journal/index.ts'
import {
  ANCHORED,
  EPOCH_STARTED,
  ERASED,
  type LeafEntry,
  type LeafSecrets,
  leafContent,
  PRUNED,
  storedCommitments,
} from '../transparency/leaf.ts'
import type { Anchor, EntryEvidence, Item } from './compare-block.ts'
import { Uncheckable } from './findings.ts'
import type { Order } from './orders.ts'

export const FORMAT = 'wardkeep-audit-log@1'

/** The maximum length of a line in bytes. The longest entries that the service writes have about 1 MiB. */
export const MAX_LINE_BYTES = 16 * 1024 * 1024

export interface ExportHeader {
  origin: string
  /** The verifier key of the log. */
  key: string
  /** The last signed head. Null if none was signed before the next epoch began. */
  checkpoint: string | null
  /** The number of leaves of the whole log. */
  size: number
  /** The index of the first exported leaf, and the index after the last one. */
  first: number
  end: number
  left: readonly Buffer[]
  right: readonly Buffer[]
}

/** An entry with everything from which its leaf is computed. */
export interface ExportedEntry extends LeafEntry, LeafSecrets {
  index: number
  mark: string
}

const base64 = (bytes: Buffer | null) => (bytes === null ? null : bytes.toString('base64'))

export const headerLine = ({ left, right, ...header }: ExportHeader): string =>
  `${JSON.stringify({ format: FORMAT, ...header, left: left.map(base64), right: right.map(base64) })}\n`

export const hashesLine = (first: number, hashes: Buffer): string =>
  `${JSON.stringify({ first, hashes: base64(hashes) })}\n`

/** Returns the line of an entry. The commitments are only in it after the personal fields were erased. */
export function entryLine({ who_salt, what_salt, who, what, ...entry }: ExportedEntry): string {
  const salts = { who_salt: base64(who_salt), what_salt: base64(what_salt) }
  return `${JSON.stringify({ ...entry, ...salts, ...(who === null ? {} : { who, what }) })}\n`
}

export const lastLine = (entries: number): string => `${JSON.stringify({ entries })}\n`

/** The fields behind the commitments of a leaf, with the salts. */
export type PersonalFields = WhoFields &
  Pick<LeafEntry, 'id' | 'changes'> &
  Pick<ExportedEntry, 'index' | 'who_salt' | 'what_salt'>

/** Returns the line of an entry in the file with the personal fields of a folder. */
export function personalLine(entry: ExportedEntry): string {
  const { index, id, user_email, ip, user_agent, request_id, changes, who_salt, what_salt } = entry
  const fields = { index, id, user_email, ip, user_agent, request_id, changes }
  return `${JSON.stringify({ ...fields, who_salt: base64(who_salt), what_salt: base64(what_salt) })}\n`
}

type Json = Record<string, unknown>

/** @throws Uncheckable if the line is not a JSON object */
export function parseLine(line: string, where: string): Json {
  try {
    const value = JSON.parse(line)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  } catch {
    // Reported below, without the text of the line.
  }
  throw new Uncheckable(`${where} is not a JSON object. The file is damaged or not an export.`)
}

const isCount = (value: unknown): value is number =>
  Number.isSafeInteger(value) && Number(value) >= 0

/** Returns the bytes of a base64 text, or undefined if it is not one. */
function bytesOf(value: unknown): Buffer | undefined {
  if (typeof value !== 'string') return undefined
  const bytes = Buffer.from(value, 'base64')
  return bytes.length === Math.floor((value.replace(/=+$/, '').length * 3) / 4) ? bytes : undefined
}

const isHash = (bytes: Buffer | undefined): bytes is Buffer => bytes?.length === HASH_BYTES

/** @throws Uncheckable if the line is not a header of this format */
export function parseHeader(line: string, where: string): ExportHeader {
  const value = parseLine(line, where)
  const { format, origin, key, checkpoint, size, first, end } = value
  if (format !== FORMAT)
    throw new Uncheckable(`${where} is not the begin of an exported audit log.`)
  const [left, right] = [value.left, value.right].map((list) =>
    Array.isArray(list) ? list.map(bytesOf) : [undefined],
  )
  if (
    typeof origin !== 'string' ||
    typeof key !== 'string' ||
    !(typeof checkpoint === 'string' || checkpoint === null) ||
    !(isCount(size) && isCount(first) && isCount(end) && first <= end && end <= size) ||
    !(left?.every(isHash) && right?.every(isHash))
  )
    throw new Uncheckable(`${where} is not a valid begin of an exported audit log.`)
  return { origin, key, checkpoint, size, first, end, left, right }
}

/** Parses the hashes of leaves from a line of `hashesLine`. @throws Uncheckable if they are malformed */
export function parseHashes(
  { first, hashes }: Json,
  where: string,
): { first: number; hashes: Buffer } {
  const bytes = bytesOf(hashes)
  if (!isCount(first) || !bytes || bytes.length === 0 || bytes.length % HASH_BYTES !== 0)
    throw new Uncheckable(`${where} has malformed hashes.`)
  return { first, hashes: bytes }
}

const saltOf = (value: unknown): Buffer | null | undefined => {
  if (value === null) return null
  const salt = bytesOf(value)
  return salt?.length === SALT_BYTES ? salt : undefined
}

/** Parses a line of an entry. An entry with other fields than the service writes is an item that is changed. */
export function itemOf(value: Json, where: string): Item {
  const { index, mark, who_salt, what_salt, who, what } = value
  if (!isCount(index)) throw new Uncheckable(`${where} is not an entry of an audit log.`)
  return itemFrom(
    { ...(value as unknown as ExportedEntry), index },
    {
      who_salt: saltOf(who_salt),
      what_salt: saltOf(what_salt),
      who: typeof who === 'string' ? who : null,
      what: typeof what === 'string' ? what : null,
      mark: typeof mark === 'string' ? mark : '',
    },
  )
}

/** Computes the leaf of an entry. */
export function itemFrom(
  entry: LeafEntry & { index: number },
  { who_salt, what_salt, mark, ...commitments }: FoundSecrets,
): Item {
  const { index, id, created_at } = entry
  const evidence = evidenceOf(entry)
  const item = {
    index,
    id,
    created_at,
    mark,
    salt: who_salt ?? null,
    ...(evidence ? { evidence } : {}),
  }
  const isErased = who_salt === null || what_salt === null
  // Commitments do not cover fields that are there again.
  const isRefilled = isErased && commitments.who !== null && !isBlank(entry)
  if (who_salt === undefined || what_salt === undefined || isRefilled)
    return { ...item, hash: null, fault: 'changed' }
  const content = contentOf(entry, { who_salt, what_salt, ...commitments }, mark)
  const hash = content === undefined ? null : leafHash(content)
  if (isErased) return { ...item, hash, fault: 'erased' }
  return { ...item, hash, fault: hash === null ? 'changed' : null }
}

/** The secrets of a leaf as they were found. A malformed salt is undefined. */
interface FoundSecrets extends Pick<LeafSecrets, 'who' | 'what'> {
  who_salt: Buffer | null | undefined
  what_salt: Buffer | null | undefined
  mark: string
}

/** Returns whether the fields behind the commitments are gone. */
export const isBlank = ({
  user_email,
  ip,
  user_agent,
  request_id,
  changes,
}: WhoFields & Pick<LeafEntry, 'changes'>): boolean =>
  [user_email, ip, user_agent, request_id, changes].every((field) => field === null)

/** Returns what an entry shows about other entries and logs, or undefined if it shows nothing. */
export function evidenceOf({
  index,
  action,
  changes,
}: Pick<LeafEntry, 'action' | 'changes'> & { index: number }): EntryEvidence | undefined {
  switch (action) {
    case ERASED:
      return { ...NOTHING, erased: leavesIn(changes) }
    case PRUNED:
      return { ...NOTHING, pruned: leavesIn(changes), confirms: headsIn(changes) }
    case ANCHORED:
      return { ...NOTHING, anchors: anchorsIn(changes) }
    case EPOCH_STARTED:
      return { ...NOTHING, confirms: index === 0 ? formerHead(changes) : [], beginsEpoch: true }
    default:
      return undefined
  }
}

const NOTHING: EntryEvidence = {
  confirms: [],
  erased: [],
  pruned: [],
  anchors: [],
  beginsEpoch: false,
}

/** Returns the leaves that an order names. */
export function leavesIn(changes: unknown): Order[] {
  const { leaves } = (changes ?? {}) as Json
  return Array.isArray(leaves)
    ? leaves.filter((one) => [one?.epoch, one?.first, one?.last].every(isCount))
    : []
}

function anchorsIn(changes: unknown): Anchor[] {
  const { logs } = (changes ?? {}) as Json
  if (!Array.isArray(logs)) return []
  return logs.flatMap((log: Json | null) => {
    const { tenant_id, epoch, size } = log ?? {}
    const root = bytesOf(log?.root)
    return isCount(tenant_id) && isCount(epoch) && isCount(size) && isHash(root)
      ? [{ tenant_id, epoch, size, root }]
      : []
  })
}

/** Returns the head of the epoch before, which the first entry of an epoch confirms. */
const formerHead = (changes: unknown): Checkpoint[] =>
  headIn((changes as { restored?: Json } | null)?.restored)

/** Returns the heads of the epochs whose entries were all removed. */
function headsIn(changes: unknown): Checkpoint[] {
  const { heads } = (changes ?? {}) as Json
  return Array.isArray(heads) ? heads.flatMap(headIn) : []
}

function headIn(value: Json | null | undefined): Checkpoint[] {
  const { origin, size, root } = value ?? {}
  const hash = bytesOf(root)
  return typeof origin === 'string' && isCount(size) && isHash(hash)
    ? [{ origin, size, root: hash }]
    : []
}

/**
 * Returns undefined if the commitments are unknown, and for an entry that no database can contain, such as one with half
 * a surrogate pair.
 */
function contentOf(entry: LeafEntry, secrets: LeafSecrets, mark: string): string | undefined {
  try {
    const commitments = storedCommitments(entry, secrets)
    return commitments && leafContent(entry, commitments, mark)
  } catch {
    return undefined
  }
}

/** Parses a line of `personalLine`. @throws Uncheckable if it is malformed */
export function parsePersonal(line: string, where: string): PersonalFields {
  const value = parseLine(line, where)
  const [who_salt, what_salt] = [saltOf(value.who_salt), saltOf(value.what_salt)]
  if (!isCount(value.index) || who_salt === undefined || what_salt === undefined)
    throw new Uncheckable(`${where} does not have the fields of an entry.`)
  return { ...(value as unknown as PersonalFields), who_salt, what_salt }
}
