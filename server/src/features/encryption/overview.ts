/** The part of the overview that describes the latest key rotation, and records on former keys. */
import Type from 'typebox'
import { Nullable, Timestamp } from '../../lib/shapes.ts'
import { type OverviewParts, overviewPart } from '../../platform/feature/feature.ts'
import { areLeft } from './re-encryption.store.ts'
import { findLatest } from './rotations.store.ts'

/** @param tables the tables with encrypted columns */
export const encryptionAttention = (tables: readonly string[]): OverviewParts => ({
  key_rotation: overviewPart({
    schema: Type.Object(
      {
        is_failed: Type.Boolean({ description: 'Whether the last rotation failed.' }),
        failed_at: Nullable(Timestamp),
        uses_old_keys: Type.Boolean({
          description:
            'Whether former keys encrypt records although no rotation runs, as after the restore of an older backup.',
        }),
      },
      { description: 'The last rotation of keys. Null for administrators of a tenant.' },
    ),
    isOfInstallation: true,
    async read(tx) {
      if (tx.tenantId !== null) return null
      const latest = await findLatest(tx)
      const is_failed = latest?.status === 'failed'
      return {
        is_failed,
        failed_at: is_failed ? latest.finished_at : null,
        uses_old_keys: latest?.status !== 'running' && !is_failed && (await areLeft(tx, tables)),
      }
    },
  }),
})
