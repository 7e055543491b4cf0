/**
 * Queues mails in the transaction that causes them. A job sends each mail and retries for about two days. The content
 * may include tokens, so it is encrypted while the mail is queued.
 *
 * A mail is sent once the receiving server has accepted it. A duplicate is possible only if a process or connection
 * dies after that acceptance and before it is recorded. SMTP cannot rule that out (RFC 5321, 4.1.1.4). Both copies then
 * have the same Message-id.
 */
import { randomUUID } from 'node:crypto'
import type { Clock } from '../../lib/clock.ts'
import { type RootSealed, rootPlace, type Sealer } from '../crypto/index.ts'
import type { TenantTx } from '../db/index.ts'
import { type Jobs, jobKind } from '../jobs/index.ts'
import type { Logger } from '../observe/log.ts'
import { isMailable, parseSender } from './addresses.ts'
import { compose } from './compose.ts'
import type { MailContent } from './text.ts'
import { type MailTransport, PermanentMailError } from './transport.ts'

export interface MailMessage extends MailContent {
  to: string
}

export interface Mailer {
  /** Queues the mail in the caller's transaction. A job sends the mail after the commit, with retries. */
  send(tx: TenantTx, mail: MailMessage): Promise<void>
  /** True if mails are sent over SMTP, false if they are only written to the outbox folder. */
  readonly isConfigured: boolean
}

/** Retries after 30 s, 1 min, 2 min … up to 4 h, with jitter, for about two days in total. */
const SEND = jobKind<{ sealed: string }>('mail.send', {
  retries: 20,
  retryDelaySeconds: 30,
  retryBackoff: true,
  retryDelayMaxSeconds: 4 * 60 * 60,
  expireInSeconds: 30 * 60,
  // Does not retry for longer than two days. By then the mail is outdated and its links have expired.
})

export const SEALED_MAILS: RootSealed = {
  table: 'pgboss.job_common',
  column: 'data',
  id: { column: 'id', type: 'uuid' },
  json: { member: 'sealed', name: SEND.name },
  placed: 'pgboss.job',
}

const placeOf = (id: string) => rootPlace(SEALED_MAILS, id)

export interface MailerOptions {
  jobs: Jobs
  sealer: Sealer
  transport: MailTransport
  /** The sender, such as `Wardkeep <no-reply@clinic.org>`. */
  from: string
  log: Logger
  clock: Clock
  /** Seconds between polls for retries and for mails that other processes queued; 5 by default, less in tests. */
  pollSeconds?: number
  /** Calls `begin` when sending may start. By default, sending starts immediately. */
  when?: (begin: () => void) => void
}

export function openMailer(options: MailerOptions): Mailer {
  const { jobs, sealer, transport, log, clock, pollSeconds = 5, when } = options
  const from = parseSender(options.from)
  if (!from) throw new TypeError('the sender is not a valid e-mail address')

  jobs.work(
    SEND,
    async ({ sealed }, { id, attempt }) => {
      const text = sealer.open(Buffer.from(sealed, 'base64'), placeOf(id)).toString('utf8')
      const { time, ...mail } = JSON.parse(text) as MailMessage & { time: number }
      try {
        if (!isMailable(mail.to)) throw new PermanentMailError('invalid recipient address')
        const { isEightBit } = transport
        const message = await compose({ ...mail, id, time, from, isEightBit })
        const { file } = await transport.deliver({
          id,
          time,
          from: from.address,
          to: mail.to,
          subject: mail.subject,
          text: mail.text,
          message,
        })
        if (file)
          log.info({ id, file }, 'mail written to the outbox folder, because SMTP_URL is not set')
        else log.info({ id, attempt }, 'mail sent')
      } catch (error) {
        // Does not retry, because the server would reject the mail again and retries would harm the sender's
        // reputation.
        if (!(error instanceof PermanentMailError)) throw error
        log.error({ job: SEND.name, id, attempt }, `mail not sent: ${error.message}`)
      }
    },
    { concurrency: 4, pollSeconds, ...(when ? { when } : {}) },
  )

  return {
    isConfigured: transport.reachesPeople,
    async send(tx, { to, subject, text, html }) {
      const id = randomUUID()
      const content = JSON.stringify({ to, subject, text, html, time: clock.now() })
      const sealed = sealer.seal(content, placeOf(id)).toString('base64')
      await jobs.send(tx, SEND, { sealed }, { id })
    },
  }
}
