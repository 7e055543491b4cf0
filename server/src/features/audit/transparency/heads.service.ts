/** Hands out signed heads and proofs. A head is signed only if it extends the last one that this database knows. */

import type { ConfiguredWitness } from '../../../config/audit-variables.ts'
import { readCheckpoint, writeCheckpoint, writeProof } from '../../../lib/merkle/checkpoint.ts'
import {
  consistencyProof,
  inclusionProof,
  leafHash,
  type TilePlace,
  Tiles,
  tilesForConsistency,
  tilesForProof,
} from '../../../lib/merkle/tree.ts'
import { orNotFound, Problem } from '../../../lib/problems.ts'
import { openNote, signNote, writeVerifierKey } from '../../../lib/signed-note.ts'
import type { Auditor } from '../../../platform/access/index.ts'
import { forCaller, type Scopes, type TenantTx } from '../../../platform/db/index.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import { findStoredEntry } from '../audit.store.ts'
import { writeOrigin } from '../offline/index.ts'
import { listAuditKeys } from './audit-key.store.ts'
import { type AuditKeys, type AuditSigners, verifierOf } from './audit-key.ts'
import { continueHeads } from './epochs.ts'
import { leafContent, storedCommitments } from './leaf.ts'
import * as store from './logs.store.ts'
import type { OutsideHeads } from './outside-heads.ts'
import type { AuditHeads, EntryProof } from './transparency.schema.ts'
import { verifiedRoot } from './verified-root.ts'
import { witnessesOf } from './witnesses.store.ts'

interface HeadsDeps {
  db: Scopes
  log: Logger
  keys: AuditKeys
  outside: OutsideHeads
  /** The witnesses of the log of the platform. */
  witnesses?: readonly ConfiguredWitness[]
}

export interface AuditHeadsService {
  /** Signs the heads of the logs that the caller may see, except for logs that were altered. */
  list(caller: Auditor): Promise<AuditHeads>
  /** Signs the head of one log. @throws Problem 404, 409 if the log was altered */
  checkpoint(caller: Auditor, tenantId: number): Promise<string>
  /** Proves that an entry is in the log. @throws Problem 404, 409 if it is not sealed yet or was altered */
  prove(caller: Auditor, entryId: number): Promise<EntryProof>
  /**
   * Signs the head of one log, or of every log, for an export. Of an altered log, and of a log of an earlier epoch, it
   * returns the last signed head.
   * @throws Problem 404 for an unknown log, 409 if an altered log has no head with which it can be compared
   */
  export(tenantId: number | undefined): Promise<ExportedHead[]>
  /** Signs the head of the log of the platform. Returns undefined if the log has no entries or was altered. */
  platform(): Promise<PlatformHead | undefined>
  /** Signs the head of every log with all keys that sign now. Passes over altered logs. */
  signAll(): Promise<void>
}

/** The signed head of the log of the platform. */
export interface PlatformHead {
  origin: string
  size: number
  checkpoint: string
  /** Proves that the log extends its first `old` entries (RFC 6962 §2.1.2). */
  proofFrom(old: number): Promise<Buffer[]>
}

/** A signed head for an export. */
export interface ExportedHead {
  tenant_id: number
  epoch: number
  origin: string
  /** The verifier key. */
  key: string
  size: number
  /** Null if no head was signed in an earlier epoch. */
  checkpoint: string | null
  /** Whether a later epoch continues the log. */
  isEnded: boolean
  /** Whether the log was altered, so that this is the head from before. */
  isAltered: boolean
}

/** The maximum number of heads in a response. */
const MAX_HEADS = 1_000

export function auditHeads({
  db,
  log,
  keys,
  outside,
  witnesses = [],
}: HeadsDeps): AuditHeadsService {
  /**
   * Locks a log and signs its head with all keys that sign now, unless they have signed it before. Returns no head of an
   * altered log, and the last head of an ended one.
   */
  const sign = async (tx: TenantTx, wanted: Pick<store.LogRow, 'tenant_id' | 'epoch'>) => {
    const row = await store.lockLog(tx, wanted)
    const signers = await keys.signers(tx)
    const origin = originOf(signers, row)
    const known = ownHead(row, origin)
    if (row.ended_at !== null) return { row, origin, signers, checkpoint: known }
    const kept = await outside.find(row.tenant_id)
    const isSameHistory = !kept || (await continueHeads(tx, [{ head: kept, row }], signers[0].name))
    if (isSameHistory && known && sizeOf(known) === row.size && hasSigned(signers, known))
      return { row, origin, signers, checkpoint: known }
    const root = isSameHistory ? await verifiedRoot(tx, row) : undefined
    if (!root) {
      reportAltered(row)
      return { row, origin, signers, checkpoint: null }
    }
    const checkpoint = signNote(writeCheckpoint({ origin, size: row.size, root }), signers)
    await store.rememberHead(tx, row, root, checkpoint)
    // Kept before it is handed out. The lock of the log orders the heads of several processes.
    await outside.keep(row.tenant_id, checkpoint)
    return { row, origin, signers, checkpoint }
  }

  const reportAltered = ({ tenant_id, epoch }: store.LogRow) =>
    log.error({ tenant_id, epoch }, 'audit log was altered')

  return {
    async list(caller) {
      await keys.prepare()
      const list = async (tx: TenantTx) => ({
        logs: await store.listLogs(tx, MAX_HEADS),
        signers: await keys.signers(tx),
      })
      const { logs, signers } = await forCaller(db, caller, list, 'read')
      const [key, ...former_keys] = signers.map((signer) => writeVerifierKey(signer))
      const items: AuditHeads['items'] = []
      // Each log in its own transaction, so that the sealer waits for one signature at most.
      for (const one of logs)
        items.push(
          await forCaller(db, caller, async (tx) => {
            const { row, origin, checkpoint } = await sign(tx, one)
            const { tenant_id, epoch, size } = row
            const isWitnessed = tenant_id === store.PLATFORM_LOG && witnesses.length > 0
            const confirmed = isWitnessed ? await witnessesOf(tx, origin, witnesses) : []
            return { tenant_id, epoch, size, origin, checkpoint, witnesses: confirmed }
          }),
        )
      return { key: key as string, former_keys, items }
    },

    async checkpoint(caller, tenantId) {
      await keys.prepare()
      return forCaller(db, caller, async (tx) => {
        const found = orNotFound(await store.findLog(tx, tenantId), 'audit log')
        return requireHead(await sign(tx, found))
      })
    },

    async export(tenantId) {
      await keys.prepare()
      const all = await db.acrossTenants(store.listEpochs, 'read')
      const logs = all.filter(({ tenant_id }) => tenantId === undefined || tenant_id === tenantId)
      if (logs.length === 0) throw new Problem('not_found', { detail: 'No such audit log' })
      const heads: ExportedHead[] = []
      for (const one of logs)
        heads.push(
          await db.acrossTenants(async (tx) => {
            const { row, origin, signers, checkpoint } = await sign(tx, one)
            const { tenant_id, epoch, size } = row
            const isEnded = row.ended_at !== null
            const head = { tenant_id, epoch, origin, isEnded, isAltered: false }
            if (checkpoint !== null && !isEnded)
              return { ...head, key: writeVerifierKey(signers[0]), size, checkpoint }
            const last = await lastHead(tx, row, origin)
            if (isEnded)
              return { ...head, key: last?.key ?? writeVerifierKey(signers[0]), size, checkpoint }
            if (last === undefined) throw new Problem('audit_log_altered')
            return { ...head, ...last, isAltered: true }
          }),
        )
      return heads
    },

    async platform() {
      await keys.prepare()
      return db.acrossTenants(async (tx) => {
        const found = await store.findLog(tx, store.PLATFORM_LOG)
        if (!found || found.size === 0) return undefined
        const { row, origin, checkpoint } = await sign(tx, found)
        const { size } = row
        if (checkpoint === null) return undefined
        const prove = async (read: TenantTx, old: number) =>
          consistencyProof(await tilesOf(read, row, tilesForConsistency(old, size)), old, size)
        const proofFrom = (old: number) => db.acrossTenants((read) => prove(read, old), 'read')
        return { origin, size, checkpoint, proofFrom }
      })
    },

    async signAll() {
      await keys.prepare()
      const logs = await db.acrossTenants(store.listEpochs, 'read')
      for (const one of logs) await db.acrossTenants((tx) => sign(tx, one))
    },

    async prove(caller, entryId) {
      await keys.prepare()
      return forCaller(db, caller, async (tx) => {
        const entry = orNotFound(await findStoredEntry(tx, entryId), 'audit entry')
        const leaf = await store.findLeaf(tx, entryId)
        if (!leaf) throw new Problem('entry_not_sealed')
        const { row, origin, ...signed } = await sign(tx, leaf)
        const checkpoint = requireHead({ row, ...signed })
        const { index, who_salt: who, what_salt: what, mark } = leaf
        const size = sizeOf(checkpoint)
        if (index >= size) throw new Problem('audit_epoch_ended')
        const tiles = await tilesOf(tx, row, tilesForProof(index, size))
        const commitments = storedCommitments(entry, leaf)
        const content = commitments && leafContent(entry, commitments, mark)
        if (content === undefined || !leafHash(content).equals(tiles.node(0, index))) {
          reportAltered(row)
          throw new Problem('audit_log_altered')
        }
        const hashes = inclusionProof(tiles, index, size)
        return {
          entry,
          salts: { who: who?.toString('base64') ?? null, what: what?.toString('base64') ?? null },
          leaf: content,
          origin,
          index,
          size,
          hashes: hashes.map((hash) => hash.toString('base64')),
          checkpoint,
          proof: writeProof({ index, hashes, checkpoint }),
        }
      })
    },
  }
}

/** Returns the name of a log. The name of the keys begins it. */
const originOf = ([{ name }]: AuditSigners, { tenant_id, epoch }: store.LogRow): string =>
  writeOrigin({ name, tenant_id, epoch })

/**
 * Returns the last head that was signed in the name of this installation. A restored copy also has heads of the original
 * installation, under its name.
 */
const ownHead = ({ checkpoint }: store.LogRow, origin: string): string | null =>
  checkpoint?.startsWith(`${origin}\n`) ? checkpoint : null

const sizeOf = (checkpoint: string): number => readCheckpoint(checkpoint).size

const hasSigned = (signers: AuditSigners, note: string): boolean =>
  signers.every((signer) => openNote(note, signer) !== undefined)

/** @throws Problem if a log has no head, because it was altered, or because its epoch ended before */
function requireHead({
  row,
  checkpoint,
}: {
  row: store.LogRow
  checkpoint: string | null
}): string {
  if (checkpoint !== null) return checkpoint
  throw new Problem(row.ended_at === null ? 'audit_log_altered' : 'audit_epoch_ended')
}

/** Returns the last signed head of a log, with a key that signed it. Returns undefined if there is none. */
async function lastHead(tx: TenantTx, row: store.LogRow, origin: string) {
  const checkpoint = ownHead(row, origin)
  const verifiers = (await listAuditKeys(tx)).map(verifierOf)
  const verifier = verifiers.find((one) => checkpoint && openNote(checkpoint, one))
  if (!checkpoint || !verifier || sizeOf(checkpoint) > row.size) return undefined
  return { key: writeVerifierKey(verifier), size: sizeOf(checkpoint), checkpoint }
}

/** Loads tiles of one log. */
async function tilesOf(
  tx: TenantTx,
  { tenant_id, epoch }: store.LogRow,
  places: readonly TilePlace[],
): Promise<Tiles> {
  const wanted = places.map((place) => ({ tenant_id, epoch, ...place }))
  return (await store.loadTiles(tx, wanted)).get(tenant_id) ?? new Tiles()
}
