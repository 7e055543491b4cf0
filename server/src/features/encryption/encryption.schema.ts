import Type, { type Static } from 'typebox'
import { Nullable, OneOf, Timestamp } from '../../lib/shapes.ts'

const Count = Type.Integer({ minimum: 0 })

export const KeyOrder = Type.Object({
  new_key: Type.Optional(
    Type.String({
      maxLength: 100,
      description: 'The new key-encryption key, 32 bytes in base64 or hex. Generated if left out.',
    }),
  ),
})
export type KeyOrder = Static<typeof KeyOrder>

export const Rotation = Type.Object(
  {
    rotation_id: Nullable(Type.String({ examples: ['7d1f0c9e-4b5c-4c0e-9a53-0c1d2e3f4a5b'] })),
    status: OneOf(['idle', 'running', 'completed', 'failed'], { examples: ['running'] }),
    key_id: Nullable(Count, {
      examples: [2],
      description: 'The new key-encryption key of this rotation.',
    }),
    records_total: { ...Count, examples: [21480] },
    records_done: { ...Count, examples: [9100] },
    records_failed: Count,
    reason: Nullable(Type.String(), {
      description: 'Why the rotation failed.',
    }),
    started_at: Nullable(Timestamp),
    finished_at: Nullable(Timestamp),
  },
  { $id: 'Rotation' },
)
export type Rotation = Static<typeof Rotation>

export const RotationStatus = Type.Object(
  {
    ...Rotation.properties,
    waits_for: Nullable(
      Type.Object({
        pid: Type.Integer({
          description: 'The process id of the connection, as in pg_stat_activity.',
        }),
        application: Type.String({ description: 'The application name of the connection.' }),
        since: Timestamp,
      }),
      {
        description:
          'All data is re-encrypted, but this transaction is older than the new keys. The old keys are kept until it ends.',
      },
    ),
  },
  { $id: 'RotationStatus' },
)
export type RotationStatus = Static<typeof RotationStatus>
