/** The mail to superadmins about an audit log that does not match. */
import { type MailContent, renderMail } from '../../../platform/mail/index.ts'
import { FINDING_KINDS, type Finding } from '../offline/index.ts'
import { PLATFORM_LOG } from '../transparency/logs.store.ts'

/** @param findings the findings so far, at least one */
export function findingMail(
  name: string,
  tenantId: number,
  findings: readonly Finding[],
): MailContent {
  const log = tenantId === PLATFORM_LOG ? 'of the platform' : `of clinic ${tenantId}`
  const [first] = findings
  return renderMail({
    subject: 'An audit log was altered',
    greeting: `Hello ${name},`,
    lines: [
      `the audit log ${log} does not match its transparency log: entries or hashes were altered in the database after they were sealed.`,
      ...(first ? [`The first finding is: ${sentenceOf(first)}.`] : []),
      'The verification continues, and does not send another mail about the same findings. The audit log lists them as audit.tampering_found.',
    ],
    closing:
      'Do not change the database, and make a copy of it as evidence. The runbook docs/runbooks/audit-log-finding.md explains the next steps.',
  })
}

function sentenceOf({ kind, index, entry_id, detail }: Finding): string {
  const entry = entry_id === null ? '' : `entry ${entry_id}, `
  const place = index === null ? '' : `index ${index}, `
  return `${entry}${place}${FINDING_KINDS[kind]} (${detail})`
}
