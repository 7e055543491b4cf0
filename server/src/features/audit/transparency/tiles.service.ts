/** Hands out the tiles of a log and the content of its leaves, so that others can verify the whole log. */
import { entryBundle } from '../../../lib/merkle/entry-bundle.ts'
import { HASH_BYTES, leafHash, TILE_WIDTH } from '../../../lib/merkle/tree.ts'
import { orNotFound, Problem } from '../../../lib/problems.ts'
import type { Auditor } from '../../../platform/access/index.ts'
import { forCaller, type Scopes } from '../../../platform/db/index.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import { leafContent, storedCommitments } from './leaf.ts'
import * as store from './logs.store.ts'
import { type LeafRow, readLeaves } from './read-log.store.ts'
import { readTilePath } from './tile-request.ts'

export interface AuditTiles {
  /**
   * Returns the bytes of a tile: hashes, or entries after their lengths (C2SP tlog-tiles). @throws Problem 404, 409 if
   * entries were altered
   */
  read(caller: Auditor, tenantId: number, path: string): Promise<Buffer>
}

export function auditTiles({ db, log }: { db: Scopes; log: Logger }): AuditTiles {
  return {
    read(caller, tenantId, path) {
      const { isBundle, level, index, width } = readTilePath(path)
      return forCaller(
        db,
        caller,
        async (tx) => {
          const found = orNotFound(await store.findLog(tx, tenantId), 'audit log')
          const { tenant_id, epoch, pruned_size } = found
          const tiles = await store.loadTiles(tx, [{ tenant_id, epoch, level, index }])
          const stored = tiles.get(tenant_id)?.get({ level, index })
          const isThere = stored !== undefined && stored.length >= width * HASH_BYTES
          const hashes = orNotFound(
            isThere ? stored.subarray(0, width * HASH_BYTES) : undefined,
            'tile',
          )
          if (!isBundle) return hashes
          const first = index * TILE_WIDTH
          if (first < pruned_size) throw new Problem('not_found', { detail: PRUNED_AWAY })
          const leaves = await readLeaves(tx, { tenant_id, epoch }, first, first + width)
          const contents = leaves.map(contentOf)
          if (!Buffer.concat(contents.map(leafHash)).equals(hashes)) {
            log.error({ tenant_id, epoch, tile: path }, 'audit log was altered')
            throw new Problem('audit_log_altered')
          }
          return entryBundle(contents)
        },
        'read',
      )
    },
  }
}

const PRUNED_AWAY =
  'The service removed these entries after their retention. Request the archives from the operator'

/** Returns the content of a leaf. It is empty if the journal does not have the entry. */
const contentOf = ({ entry, mark, ...secrets }: LeafRow): string => {
  const commitments = entry && storedCommitments(entry, secrets)
  return commitments ? leafContent(entry, commitments, mark) : ''
}
