export { openAudit } from './audit.ts'
export { auditCommands, verifyAuditLogs } from './commands.ts'
export { findNames, type NameOf } from './names.store.ts'
export { SEALED_AUDIT_KEYS } from './transparency/audit-key.ts'
