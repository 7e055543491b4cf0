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

const Destroyed = {
  destroyed: { ...Count, description: 'The number of destroyed keys.' },
  last_destroyed_at: Nullable(Timestamp),
}

export const EncryptionKeys = Type.Object(
  {
    root_key: Type.Object(
      {
        fingerprint: Type.String({ examples: ['2c26b46b68ffc68f'] }),
        created_at: Timestamp,
        former: { ...Count, description: 'The number of former root keys that are still stored.' },
      },
      { description: 'The key of the configuration, which encrypts the key-encryption key.' },
    ),
    key_encryption_key: Type.Object(
      {
        key_id: { ...Count, examples: [2] },
        created_at: Timestamp,
        retired: { ...Count, description: 'The number of former keys that are still stored.' },
        ...Destroyed,
      },
      { description: 'The key that encrypts the data keys.' },
    ),
    data_keys: Type.Object(
      {
        current: { ...Count, examples: [3], description: 'The number of keys that encrypt data.' },
        oldest_created_at: Nullable(Timestamp, {
          description: 'When the oldest key in use was created.',
        }),
        retired: { ...Count, description: 'The number of former keys that are still stored.' },
        ...Destroyed,
      },
      { description: 'The keys that encrypt the fields. Every tenant has its own.' },
    ),
    records_on_old_keys: {
      ...Count,
      examples: [0],
      description:
        'The number of records that former data keys still encrypt, counted up to 10,000.',
    },
  },
  { $id: 'EncryptionKeys' },
)
export type EncryptionKeys = Static<typeof EncryptionKeys>
