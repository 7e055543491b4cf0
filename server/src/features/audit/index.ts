export { openAudit } from './audit.ts'
export { auditCommands, verifyAuditLogs } from './commands.ts'
export { SEALED_AUDIT_KEYS } from './transparency/audit-key.ts'
