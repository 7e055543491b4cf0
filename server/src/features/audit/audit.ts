/** The audit log, put together. */
import type { Needs } from '../../core.ts'
import type { Feature } from '../../platform/feature.ts'
import { auditOperations } from './audit.routes.ts'
import { auditService } from './audit.service.ts'

export function openAudit({ db }: Needs<'db'>): Feature {
  return { name: 'audit', operations: auditOperations(auditService(db)) }
}
