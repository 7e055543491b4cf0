export { openAudit } from './audit.ts'
