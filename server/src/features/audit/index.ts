/** Public exports of the audit feature for the composition root. */
export { openAudit } from './audit.ts'
