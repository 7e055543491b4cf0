/** The part of the overview that describes the latest key rotation. */
import Type from 'typebox'
import { Nullable, Timestamp } from '../../lib/shapes.ts'
import { type OverviewParts, overviewPart } from '../../platform/feature/feature.ts'
import { findLatest } from './rotations.store.ts'

export const ENCRYPTION_ATTENTION: OverviewParts = {
  key_rotation: overviewPart({
    schema: Type.Object(
      {
        is_failed: Type.Boolean({ description: 'Whether the last rotation failed.' }),
        failed_at: Nullable(Timestamp),
      },
      { description: 'The last rotation of keys. Null for administrators of a tenant.' },
    ),
    isOfInstallation: true,
    async read(tx) {
      if (tx.tenantId !== null) return null
      const latest = await findLatest(tx)
      const is_failed = latest?.status === 'failed'
      return { is_failed, failed_at: is_failed ? latest.finished_at : null }
    },
  }),
}
