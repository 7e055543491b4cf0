/** Mails, for the features and the composition root. */

export { type Mail, type Mailer, type MailerOptions, openMailer } from './mailer.ts'
export { outboxTransport } from './outbox.ts'
export { smtpTransport } from './smtp.ts'
export { composeText, type MailText } from './text.ts'
export type { MailTransport } from './transport.ts'
