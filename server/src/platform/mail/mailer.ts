/**
 * Mails: written on the transaction of their cause, carried away by a job that tries for about two
 * days. What they say holds tokens, so it is sealed for as long as it waits.
 *
 * A mail is done once the other side has accepted it. The one way to a double is a process or
 * connection that dies between that acceptance and its being noted here, which SMTP cannot rule
 * out (RFC 5321, 4.1.1.4); both then carry the same Message-ID.
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
  /** Writes the mail on the transaction of its cause; a retried job sends it. */
  send(tx: TenantTx, mail: MailMessage): Promise<void>
  /** Whether mails reach people (SMTP), and not only the outbox folder. */
  readonly isConfigured: boolean
}

/** 30 s, 1 min, 2 min … up to 4 h, scattered: about two days in all. */
const SEND = jobKind<{ sealed: string }>('mail.send', {
  retries: 20,
  retryDelaySeconds: 30,
  retryBackoff: true,
  retryDelayMaxSeconds: 4 * 60 * 60,
  expireInSeconds: 30 * 60,
  // What it says is no news by then, and its links are over.
  mayRunLate: false,
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
  /** `Wardkeep <no-reply@clinic.org>` */
  from: string
  log: Logger
  clock: Clock
  /** How often this process asks for mails of others and for second attempts; 5 unless a test cannot wait. */
  pollSeconds?: number
  /** Says when mails begin to go; at once unless told otherwise. */
  when?: (begin: () => void) => void
}

export function openMailer(options: MailerOptions): Mailer {
  const { jobs, sealer, transport, log, clock, pollSeconds = 5, when } = options
  const from = parseSender(options.from)
  if (!from) throw new TypeError('the sender of mails is not an address')

  jobs.work(
    SEND,
    async ({ sealed }, { id, attempt }) => {
      const text = sealer.open(Buffer.from(sealed, 'base64'), placeOf(id)).toString('utf8')
      const { time, ...mail } = JSON.parse(text) as MailMessage & { time: number }
      try {
        if (!isMailable(mail.to)) throw new PermanentMailError('its address cannot be written to')
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
          log.info({ id, file }, 'a mail is in the outbox; without SMTP_URL it goes no further')
        else log.info({ id, attempt }, 'a mail was sent')
      } catch (error) {
        // Trying again would be refused again, and harms the sender's name with the server.
        if (!(error instanceof PermanentMailError)) throw error
        log.error({ job: SEND.name, id, attempt }, `a mail was not sent: ${error.message}`)
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
