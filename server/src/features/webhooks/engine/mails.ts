/** What the admins of a tenant are told by mail about their webhooks. */
import { type MailContent, renderMail } from '../../../platform/mail/index.ts'
import type { DisableReason } from './circuit.ts'

interface DisabledWebhook {
  /** The administrator's. */
  name: string
  id: number
  /** As far as it may be shown. */
  url: string
  reason: DisableReason
  since: string
  /** How long what happens meanwhile is kept for it. */
  keepDays: number
}

export function disabledMail({
  name,
  id,
  url,
  reason,
  since,
  keepDays,
}: DisabledWebhook): MailContent {
  const minute = `${since.slice(0, 16).replace('T', ' ')} UTC`
  const why =
    reason === 'gone'
      ? 'its receiver answered that it is gone for good (410)'
      : `every message to it has failed since ${minute}`
  return renderMail({
    subject: 'A webhook was deactivated',
    greeting: `Hello ${name},`,
    lines: [
      `webhook ${id}, which sends to ${url}, was deactivated: ${why}.`,
      `What happens meanwhile is kept for it for ${keepDays} days, and sent once it is active again.`,
    ],
    closing:
      'To activate it, mend the receiver, try it with a test event, and set is_active to true. If it is no longer needed, delete the webhook.',
  })
}
