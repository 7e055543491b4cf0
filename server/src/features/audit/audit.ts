/** The audit log, put together. */
import type { Needs } from '../../core.ts'
import type { Feature } from '../../platform/feature.ts'
import { auditOperations } from './audit.routes.ts'
import { auditService } from './audit.service.ts'
import { exportOperations } from './export/export.routes.ts'
import { auditExports } from './export/export.service.ts'

export function openAudit({ db, log }: Needs<'db' | 'log'>): Feature {
  return {
    name: 'audit',
    operations: [...auditOperations(auditService(db)), ...exportOperations(auditExports(db, log))],
  }
}
