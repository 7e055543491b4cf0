/** The state of a webhook, and why it fails, in words. */
import type { Attempt, Webhook, WebhookDetails } from './data.ts'
import { webhookTexts } from './webhooks.texts.ts'

const texts = webhookTexts.why

/** The state of a webhook, as the console shows it. */
export function webhookState({
  is_active,
  failing_since,
}: Pick<Webhook, 'is_active' | 'failing_since'>): 'active' | 'failing' | 'inactive' {
  if (!is_active) return 'inactive'
  return failing_since === null ? 'active' : 'failing'
}

type Result = Pick<Attempt, 'status_code' | 'error'>

/** Describes the result of an attempt in a few words: the status, or why there was no response. */
export function resultWords({ status_code, error }: Result): string {
  if (status_code !== null) return String(status_code)
  return error === null ? '' : (texts.short[error] ?? error)
}

/** Explains a failure, and what to do. */
export function advice({ status_code, error }: Result): string | undefined {
  if (status_code !== null) return statusAdvice(status_code)
  return error === null ? undefined : texts.long[error]
}

function statusAdvice(status: number): string | undefined {
  if (status < 300) return undefined
  if (status < 400) return texts.redirect
  const known = texts.statuses[status as keyof typeof texts.statuses]
  if (known) return known
  return status < 500 ? texts.refused : texts.broken
}

/** Returns why a webhook is not sent to, or undefined while it works. */
export function inactiveReason({ disabled_reason }: Pick<WebhookDetails, 'disabled_reason'>) {
  return disabled_reason === null ? undefined : texts.disabled[disabled_reason]
}
