import type { Needs } from '../../core.ts'
import type { Feature } from '../../platform/feature/feature.ts'
import { trackedJobs } from '../../platform/jobs/index.ts'
import { auditOperations } from './audit.routes.ts'
import { auditService } from './audit.service.ts'
import { exportOperations } from './export/export.routes.ts'
import { auditExports } from './export/export.service.ts'
import { AUDIT_FIGURES } from './overview.ts'

export function openAudit(core: Needs<'db' | 'log' | 'replica'>): Feature {
  const { db } = core
  return {
    name: 'audit',
    operations: [...auditOperations(auditService(db)), ...exportOperations(auditExports(core))],
    figures: AUDIT_FIGURES,
    jobs: [trackedJobs(db, ['export'], 'entries')],
  }
}
