/** What the composition root uses of the audit log. */
export { auditOperations } from './audit.routes.ts'
export { auditService } from './audit.service.ts'
