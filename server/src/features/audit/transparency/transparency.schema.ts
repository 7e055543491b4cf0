import Type, { type Static } from 'typebox'
import { idOf, Nullable, Timestamp } from '../../../lib/shapes.ts'
import { FileOf, TextFileOf } from '../../../platform/http/index.ts'
import { StoredEntry } from '../audit.schema.ts'
import { TilePath } from './tile-request.ts'

const Origin = Type.String({
  description: 'The name of the log, unique in the world. The checkpoint begins with it.',
  examples: ['admin.north.example/audit/6e0c1d2e-3f4a-4b5c-8e9f-0a1b2c3d4e5f/7/1'],
})
const Size = Type.Integer({
  minimum: 0,
  description: 'The number of sealed entries.',
  examples: [1],
})
const CHECKPOINT =
  'admin.north.example/audit/6e0c1d2e-3f4a-4b5c-8e9f-0a1b2c3d4e5f/7/1\n1\nsFodV/vSp5O8n9a8QpW6PRY97tfOSW5bsc2Xl/EQi08=\n\n— admin.north.example/audit/6e0c1d2e-3f4a-4b5c-8e9f-0a1b2c3d4e5f mJirIklj…\n'
const Checkpoint = Type.String({
  description: 'The signed head of the log (C2SP tlog-checkpoint).',
  examples: [CHECKPOINT],
})
const Base64 = (description: string) =>
  Type.String({ description, examples: ['sFodV/vSp5O8n9a8QpW6PRY97tfOSW5bsc2Xl/EQi08='] })

const WitnessState = Type.Object({
  name: Type.String({ description: 'The name of the witness.', examples: ['witness.example/w1'] }),
  url: Type.String({ examples: ['https://witness.example/'] }),
  size: Type.Integer({
    minimum: 0,
    description: 'The size of the last head that the witness cosigned.',
    examples: [1],
  }),
  checkpoint: Nullable(Checkpoint, {
    description:
      'The last head that the witness cosigned, with the signatures of the log and of the witness (C2SP tlog-cosignature).',
  }),
  cosigned_at: Nullable(Timestamp),
  failure: Nullable(Type.String(), {
    description: 'Why the witness has not cosigned a later head. Null after a success.',
  }),
})

const KEY =
  'admin.north.example/audit/6e0c1d2e-3f4a-4b5c-8e9f-0a1b2c3d4e5f+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW'

export const AuditHeads = Type.Object(
  {
    key: Type.String({
      description: 'The public key that verifies the checkpoints (`vkey` of C2SP signed-note).',
      examples: [KEY],
    }),
    former_keys: Type.Array(Type.String({ examples: [KEY] }), {
      description:
        'The former public keys whose signatures the checkpoints have too, for 30 days after a rotation.',
    }),
    items: Type.Array(
      Type.Object({
        tenant_id: Type.Integer({
          description: 'The tenant of the log, or 0 for entries without a tenant.',
          examples: [7],
        }),
        epoch: Type.Integer({ examples: [1] }),
        size: Size,
        origin: Origin,
        checkpoint: Nullable(Checkpoint, {
          description:
            'The signed head of the log (C2SP tlog-checkpoint). Null if the log was altered: see the runbook audit-log-finding.md.',
        }),
        witnesses: Type.Array(WitnessState, {
          description: 'The witnesses of log 0 (`AUDIT_WITNESSES`). Empty for other logs.',
        }),
      }),
    ),
  },
  { $id: 'AuditHeads' },
)
export type AuditHeads = Static<typeof AuditHeads>

export const EntryProof = Type.Object(
  {
    entry: StoredEntry,
    salts: Type.Object(
      {
        who: Type.Union([Base64('Salts `who`.'), Type.Null()]),
        what: Type.Union([Base64('Salts `what`.'), Type.Null()]),
      },
      {
        description:
          'The salts of the commitments in the leaf, 32 bytes each in base64. Null after the personal fields of the entry were erased.',
      },
    ),
    leaf: Type.String({
      description:
        'The content of the leaf: canonical JSON (RFC 8785). `who` and `what` are the SHA-256 hashes of the salt followed by the canonical JSON of the fields. `mark` is `ok` if the service wrote the entry, `none` if it was written by an older release, and `bad` otherwise.',
      examples: ['{"action":"user.blocked","created_at":"2026-11-21T08:30:00.000Z","id":1}'],
    }),
    origin: Origin,
    index: Type.Integer({ minimum: 0, description: 'The index of the leaf.', examples: [0] }),
    size: Size,
    hashes: Type.Array(Base64('A hash.'), {
      description: 'The inclusion proof (RFC 6962 §2.1.1), from the leaf to the root, in base64.',
    }),
    checkpoint: Checkpoint,
    proof: Type.String({
      description: 'The proof for offline verification (C2SP tlog-proof).',
      examples: ['c2sp.org/tlog-proof@v1\nindex 0\n\n…'],
    }),
  },
  { $id: 'EntryProof' },
)
export type EntryProof = Static<typeof EntryProof>

export const EntryPath = Type.Object({ entry_id: idOf('entry', 4) })

export const LogPath = Type.Object({
  tenant_id: Type.Integer({
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    description: 'The tenant of the log, or 0 for entries without a tenant.',
    examples: [7],
  }),
})
export const LogTilePath = Type.Object({ ...LogPath.properties, tile: TilePath })

export const CheckpointFile = TextFileOf({ 'text/plain; charset=utf-8': CHECKPOINT })
export const TileFile = FileOf('application/octet-stream')
