import { auditors } from '../../../platform/access/index.ts'
import { type AnyOperation, type Download, operation } from '../../../platform/http/index.ts'
import type { AuditHeadsService } from './heads.service.ts'
import type { AuditTiles } from './tiles.service.ts'
import {
  AuditHeads,
  CheckpointFile,
  EntryPath,
  EntryProof,
  LogPath,
  LogTilePath,
  TileFile,
} from './transparency.schema.ts'

/**
 * How long a client may keep a tile, in seconds. A tile never changes, but the paths of a log belong to another one
 * after a new epoch began.
 */
const TILE_KEPT_SECONDS = 86_400

export function transparencyOperations(
  heads: AuditHeadsService,
  tiles: AuditTiles,
): AnyOperation[] {
  const common = { tag: 'Audit', access: auditors } as const
  return [
    operation({
      ...common,
      method: 'GET',
      path: '/api/admin/audit/heads',
      id: 'listAuditHeads',
      summary: 'Get the signed heads of the audit logs',
      description:
        'Returns the signed head of the transparency log of each tenant, and the keys that verify the signatures. Log 0 has the heads that witnesses cosigned. Keep heads outside the service: each later log must extend them. An administrator gets the head of their tenant, a superadmin those of the first 1,000 logs, of which log 0 has the entries without a tenant.',
      list: true,
      success: [200, AuditHeads],
      handle: ({ caller }) => heads.list(caller),
    }),
    operation({
      ...common,
      method: 'GET',
      path: '/api/admin/audit/proof/{entry_id}',
      id: 'proveAuditEntry',
      summary: 'Prove an audit entry',
      description:
        'Returns a proof that the transparency log contains the entry unchanged. The proof can be verified offline with the public key and tools for C2SP tlog-proof. Entries are sealed within seconds.',
      params: EntryPath,
      success: [200, EntryProof],
      refusals: ['not_found', 'entry_not_sealed', 'audit_log_altered', 'audit_epoch_ended'],
      handle: ({ caller, path }) => heads.prove(caller, path.entry_id),
    }),
    operation({
      ...common,
      method: 'GET',
      path: '/api/admin/audit/log/{tenant_id}/checkpoint',
      id: 'getAuditCheckpoint',
      summary: 'Get the signed head of an audit log',
      description:
        'Returns the checkpoint of the transparency log of a tenant, in the format and at the place that C2SP tlog-tiles defines. Log 0 has the entries without a tenant. With the tiles, clients for static logs can verify the whole log.',
      params: LogPath,
      success: [200, CheckpointFile],
      refusals: ['not_found', 'audit_log_altered'],
      handle: async ({ caller, path }) =>
        fileOf('checkpoint', Buffer.from(await heads.checkpoint(caller, path.tenant_id))),
    }),
    operation({
      ...common,
      method: 'GET',
      path: '/api/admin/audit/log/{tenant_id}/tile/{tile}',
      lastParamHasSlashes: true,
      id: 'getAuditTile',
      summary: 'Get a tile of an audit log',
      description:
        'Returns a tile of the transparency log of a tenant as C2SP tlog-tiles defines it: up to 256 hashes, or for `entries/…` up to 256 leaves, each after its length as a big-endian 16-bit integer. Leaves contain no personal data. A tile never changes, so clients may keep it. Slashes in the path may also be sent as `%2F`.',
      params: LogTilePath,
      success: [200, TileFile],
      refusals: ['not_found', 'audit_log_altered'],
      handle: async ({ caller, path }) => ({
        ...fileOf(
          path.tile.replaceAll('/', '-'),
          await tiles.read(caller, path.tenant_id, path.tile),
        ),
        unchangedSeconds: TILE_KEPT_SECONDS,
      }),
    }),
  ]
}

const fileOf = (name: string, bytes: Buffer): Download => ({
  name,
  async *open() {
    yield bytes
  },
})
