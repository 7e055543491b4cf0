/** Sending mails, for the features and the composition root. */

export {
  type Mailer,
  type MailerOptions,
  type MailMessage,
  openMailer,
  SEALED_MAILS,
} from './mailer.ts'
export { outboxTransport } from './outbox.ts'
export { smtpTransport } from './smtp.ts'
export { type MailContent, renderMail } from './text.ts'
export type { MailTransport } from './transport.ts'
