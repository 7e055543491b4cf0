/** Verifies the logs in the database, with what their entries, tiles, heads and the journal have now. Changes nothing. */
import { openTileStream } from '../../../lib/merkle/tile-stream.ts'
import { HASH_BYTES } from '../../../lib/merkle/tree.ts'
import { type NoteVerifier, writeVerifierKey } from '../../../lib/signed-note.ts'
import type { Scopes, TenantTx } from '../../../platform/db/index.ts'
import {
  type Block,
  type Findings,
  type Item,
  itemFrom,
  type Kept,
  type KeptHeads,
  openFindings,
  openSharedEvidence,
  parseHead,
  parseKey,
  readHeads,
  type SharedEvidence,
  Uncheckable,
  type VerificationReport,
  verifyLog,
  withUnchecked,
  writeOrigin,
} from '../offline/index.ts'
import { listAuditKeys } from './audit-key.store.ts'
import { verifierOf } from './audit-key.ts'
import { findBeyond, findInserted } from './find-inserted.ts'
import { type LogRow, listEpochs } from './logs.store.ts'
import * as store from './read-log.store.ts'
import { readBlocks, type StoredBlock } from './read-log.ts'

interface Evidence {
  keys: readonly NoteVerifier[]
  heads: KeptHeads
  /** The current key. Undefined if no head was ever signed. */
  own: NoteVerifier | undefined
  shared: SharedEvidence
}

/** Verifies all logs. @throws Uncheckable if a head or a key is malformed */
export async function verifyStoredLogs(db: Scopes, kept: Kept): Promise<VerificationReport> {
  const findings = openFindings()
  const { report } = findings
  const heads = await readHeads(kept.heads)
  const given = kept.keys.map(parseKey)
  const stored = (await db.acrossTenants(listAuditKeys, 'read')).map(verifierOf)
  const keys = given.length > 0 ? given : stored
  const evidence: Evidence = { heads, keys, own: stored[0], shared: openSharedEvidence() }
  for (const key of given.length === 0 ? stored : [])
    findings.note(
      `The key is the one in the database. Compare it with the key that you kept, or pass --key: ${writeVerifierKey(key)}`,
    )
  for (const log of await db.acrossTenants(listEpochs, 'read')) {
    // One snapshot for a log. A repeated transaction begins with new findings.
    const verify = async (tx: TenantTx) => {
      const own = openFindings()
      await withUnchecked(own, () => verifyStored(tx, log, evidence, own))
      return own.report
    }
    merge(findings, await db.acrossTenants(verify, 'filtered list'))
  }
  report.unchecked.push(...heads.unused())
  return report
}

function merge(
  findings: Findings,
  { logs, findings: found, omitted, notes, unchecked }: VerificationReport,
) {
  const { report } = findings
  for (const finding of found) findings.add(finding)
  for (const note of notes) findings.note(note)
  report.omitted += omitted
  report.logs.push(...logs)
  report.unchecked.push(...unchecked)
}

async function verifyStored(
  tx: TenantTx,
  listed: LogRow,
  { keys, heads, own, shared }: Evidence,
  findings: Findings,
): Promise<void> {
  const log = (await store.findStoredLog(tx, listed)) ?? listed
  const { tenant_id, epoch, size, checkpoint } = log
  const origin = own
    ? writeOrigin({ name: own.name, tenant_id, epoch })
    : `the log of tenant ${tenant_id}`
  const part = { origin, tenantId: tenant_id, size, first: 0, end: size, left: [], right: [] }
  // A restored copy has the heads of the original, which another key has signed in another name.
  const isOurs = checkpoint?.startsWith(`${origin}\n`)
  const known =
    checkpoint && isOurs ? [parseHead(checkpoint, `the last head of ${origin}`, keys)] : []
  if (own === undefined) findings.note(`${origin}: no head was ever signed.`)
  let isFirst = true
  const blocks = () => {
    const compared = isFirst ? findings : undefined
    isFirst = false
    return storedBlocks(tx, log, compared)
  }
  await verifyLog(part, [...known, ...heads.of(origin, keys)], blocks, findings, shared)
  await findInserted(tx, log, {}, findings)
  await findBeyond(tx, log, findings)
}

/** Yields the blocks of a log. @param findings receives the tiles that differ from those that their leaves give */
async function* storedBlocks(
  tx: TenantTx,
  log: LogRow,
  findings: Findings | undefined,
): AsyncGenerator<Block> {
  const tiles = openTileStream()
  const differs = (detail: string) =>
    findings?.add({
      kind: 'changed',
      tenant_id: log.tenant_id,
      index: null,
      entry_id: null,
      detail,
    })
  const compare = async (built: ReturnType<typeof tiles.append>) => {
    for (const { level, index, hashes } of built) {
      if (level === 0) continue
      const stored = (await store.readTiles(tx, log, { level, index }, 1)).get(index)
      if (!stored?.subarray(0, hashes.length).equals(hashes))
        differs(`the tile ${level}/${index} is not the one that the leaves give`)
    }
  }
  for await (const block of readBlocks(tx, log, 0, log.size)) {
    const items = block.rows.map(itemOfRow)
    if (block.hashes.length === 0) differs(`the tile of the leaves from ${block.first} is missing`)
    const hashes = block.hashes.length > 0 ? block.hashes : computed(block, items)
    yield { first: block.first, hashes, items }
    if (findings) await compare(tiles.append(leavesOf(hashes)))
  }
  if (findings) await compare(tiles.partial())
}

/** Returns the hashes that the entries give, for a tile that is missing. @throws Uncheckable if an entry is missing too */
function computed({ first, end }: StoredBlock, items: readonly Item[]): Buffer {
  const hashes = items.flatMap(({ hash }) => (hash ? [hash] : []))
  if (hashes.length !== end - first)
    throw new Uncheckable(`The hashes of the leaves ${first} to ${end - 1} are missing.`)
  return Buffer.concat(hashes)
}

const leavesOf = (hashes: Buffer): Buffer[] =>
  Array.from({ length: hashes.length / HASH_BYTES }, (_, at) =>
    hashes.subarray(at * HASH_BYTES, (at + 1) * HASH_BYTES),
  )

/** Computes the leaf that the entry of a stored leaf gives. */
export function itemOfRow({ index, entry_id: id, entry, mark, ...secrets }: store.LeafRow): Item {
  if (entry) return itemFrom({ ...entry, index }, { ...secrets, mark })
  const { who_salt: salt } = secrets
  return { index, id, created_at: null, mark, salt, hash: null, fault: 'removed' }
}
