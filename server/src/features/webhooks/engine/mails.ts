/** The mails about webhooks to the administrators of a tenant. */
import { type MailContent, renderMail } from '../../../platform/mail/index.ts'
import type { DisableReason } from './circuit.ts'

interface DisabledWebhook {
  name: string
  id: number
  /** The URL without its path, which may contain a secret. */
  url: string
  reason: DisableReason
  since: string
  /** The number of days for which events are stored while the webhook is inactive. */
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
      ? 'its receiver responded that it no longer exists (410 Gone)'
      : `all messages to it have failed since ${minute}`
  return renderMail({
    subject: 'A webhook was deactivated',
    greeting: `Hello ${name},`,
    lines: [
      `webhook ${id}, which sends to ${url}, was deactivated, because ${why}.`,
      `Events are kept for ${keepDays} days and are sent when the webhook is active again.`,
    ],
    closing:
      'To activate the webhook, repair the receiver, send a test event to it, and set is_active to true. If you no longer need the webhook, delete it.',
  })
}
