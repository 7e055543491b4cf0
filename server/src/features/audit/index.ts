/** What the composition root uses of the audit log. */
export { openAudit } from './audit.ts'
