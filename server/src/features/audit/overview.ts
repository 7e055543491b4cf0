import Type from 'typebox'
import { type OverviewParts, overviewPart } from '../../platform/feature/feature.ts'
import { AuditEntry } from './audit.schema.ts'
import { addNames } from './names.store.ts'
import { listLatestChanges } from './overview.store.ts'

const MAX_CHANGES = 5

export const AUDIT_FIGURES: OverviewParts = {
  latest_changes: overviewPart({
    schema: Type.Object(
      { items: Type.Array(AuditEntry) },
      { description: 'The five latest changes, as in the audit log.' },
    ),
    read: async (tx) => ({ items: await addNames(tx, await listLatestChanges(tx, MAX_CHANGES)) }),
  }),
}
