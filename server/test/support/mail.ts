/** A node that sends mails, and access to everything it logs and stores. */
import { systemClock } from '../../src/lib/clock.ts'
import { openSealer } from '../../src/platform/crypto/index.ts'
import {
  type Mailer,
  type MailMessage,
  type MailTransport,
  openMailer,
} from '../../src/platform/mail/index.ts'
import type { TestDatabase } from './database.ts'
import { type JobsNode, openNode, rowsOf } from './jobs.ts'
import { until } from './until.ts'

export interface MailNode extends JobsNode {
  mailer: Mailer
  /** Enqueues a mail in a separate transaction. */
  send(mail?: Partial<MailMessage>): Promise<void>
  /** Makes retries due immediately, until no mail is pending. */
  untilNoneWaits(): Promise<void>
  /** Returns everything that a reader of the log and the database could see. */
  traces(): Promise<string>
}

export const MAIL: MailMessage = {
  to: 'anna@clinic.test',
  subject: 'Reset your password',
  text: 'Open http://clinic.test/reset-password#token=tok-4711 within the hour.',
  html: '<p>Open <a href="http://clinic.test/reset-password#token=tok-4711">the link</a>.</p>',
}

export async function openMailNode(
  database: TestDatabase,
  transport: MailTransport,
  from = 'Wardkeep <no-reply@wardkeep.test>',
): Promise<MailNode> {
  const node = openNode(database)
  const mailer = openMailer({
    jobs: node.jobs,
    sealer: openSealer(Buffer.alloc(32, 7)),
    transport,
    from,
    log: node.log,
    clock: systemClock,
    pollSeconds: 0.05,
  })
  await node.jobs.start()
  return {
    ...node,
    mailer,
    send: (mail = {}) => node.db.acrossTenants((tx) => mailer.send(tx, { ...MAIL, ...mail })),
    untilNoneWaits: () =>
      until('no mail waits', async () => {
        await hurry(database)
        const rows = await rowsOf(database, 'mail.send')
        return rows.every(({ state }) => state === 'failed') ? (true as const) : undefined
      }).then(() => undefined),
    async traces() {
      const rows = await database.sql(`select to_jsonb(job) as row from pgboss.job`)
      const errors = node.logged.map(([, { err, ...fields }, message]) =>
        err instanceof Error
          ? [fields, message, err.message, err.stack, err.cause]
          : [fields, message],
      )
      return JSON.stringify([rows, errors])
    },
  }
}

/** Makes the next attempt due immediately. */
export async function hurry(database: TestDatabase): Promise<void> {
  await database.sql(`update pgboss.job set start_after = now() where state = 'retry'`)
}
