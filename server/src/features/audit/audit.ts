/** Assembles the audit feature. */
import type { Needs } from '../../core.ts'
import type { Feature } from '../../platform/feature/feature.ts'
import { auditOperations } from './audit.routes.ts'
import { auditService } from './audit.service.ts'
import { exportOperations } from './export/export.routes.ts'
import { auditExports } from './export/export.service.ts'
import { AUDIT_FIGURES } from './overview.ts'

export function openAudit({ db, log, replica }: Needs<'db' | 'log' | 'replica'>): Feature {
  return {
    name: 'audit',
    operations: [
      ...auditOperations(auditService(db)),
      ...exportOperations(auditExports({ db, log, replica })),
    ],
    figures: AUDIT_FIGURES,
  }
}
