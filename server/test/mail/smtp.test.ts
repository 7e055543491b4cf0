/** Mails over SMTP arrive as written, and use TLS where configured. */
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { beforeAll, expect, it } from 'vitest'
import { smtpTransport } from '../../src/platform/mail/index.ts'
import { makeCertificate } from '../support/certificate.ts'
import { migratedDatabase, type TestDatabase } from '../support/database.ts'
import { MAIL, openMailNode } from '../support/mail.ts'
import { openSmtp } from '../support/smtp.ts'
import { until } from '../support/until.ts'

let database: TestDatabase
const trusted = makeCertificate()
const stranger = makeCertificate()

beforeAll(async () => {
  database = await migratedDatabase()
  const before = getCACertificates('default')
  setDefaultCACertificates([...before, trusted.cert])
  return () => setDefaultCACertificates(before)
})

it('a mail is delivered once and completely, and is readable as plain text and as HTML', async () => {
  const smtp = await openSmtp()
  const node = await openMailNode(
    database,
    smtpTransport(`smtp://127.0.0.1:${smtp.port}`),
    'Zdravotní středisko „Ř“ <no-reply@wardkeep.test>',
  )
  const long = 'Ein sehr langer Absatz über Größen und Maße. '.repeat(40)
  const text = `Dobrý den,\n\n${long}\n.\n..two dots\nFrom here on\n`
  const html = `<p>Dobrý den,</p><p>${long}</p>`
  await node.send({
    to: 'zoë@clinic.test',
    subject: `Obnovení hesla – ${'dlouhý předmět '.repeat(8)}🏥`,
    text,
    html,
  })
  await node.untilNoneWaits()
  expect(node.mailer.isConfigured).toBe(true)
  expect(smtp.accepted).toHaveLength(1)
  const { mail, from, to, raw } = smtp.accepted[0] ?? {}
  expect({ from, to }).toEqual({ from: 'no-reply@wardkeep.test', to: ['zoë@clinic.test'] })
  expect(mail?.from).toMatchObject({
    name: 'Zdravotní středisko „Ř“',
    address: 'no-reply@wardkeep.test',
  })
  expect(mail?.subject).toBe(`Obnovení hesla – ${'dlouhý předmět '.repeat(8)}🏥`)
  expect(mail?.text?.trim()).toBe(text.trim())
  expect(mail?.html?.trim()).toBe(html)
  expect(mail?.headers.map(({ key, value }) => [key, value])).toContainEqual([
    'auto-submitted',
    'auto-generated',
  ])
  for (const line of raw?.split('\r\n') ?? []) expect(line.length).toBeLessThanOrEqual(998)
})

it('a mail is not sent if the transaction that requested it is rolled back', async () => {
  const smtp = await openSmtp()
  const node = await openMailNode(database, smtpTransport(`smtp://127.0.0.1:${smtp.port}`))
  await expect(
    node.db.acrossTenants(async (tx) => {
      await node.mailer.send(tx, MAIL)
      throw new Error('no')
    }),
  ).rejects.toThrow('no')
  await node.send({ subject: 'the only one' })
  await node.untilNoneWaits()
  expect(smtp.accepted.map(({ mail }) => mail.subject)).toEqual(['the only one'])
})

it.each([
  ['STARTTLS', false, 'smtp'],
  ['TLS from the start', true, 'smtps'],
])(
  "a mail and the password are encrypted with %s if the server's certificate is valid",
  async (_, isImplicit, scheme) => {
    const smtp = await openSmtp({ tls: trusted, isImplicit })
    const url = `${scheme}://user:p%40ss%2Fword@127.0.0.1:${smtp.port}?tls=required`
    const node = await openMailNode(database, smtpTransport(url))
    await node.send()
    await node.untilNoneWaits()
    expect(smtp.accepted).toMatchObject([{ isSecure: true }])
    expect(smtp.passwords).toEqual(['p@ss/word'])
  },
)

it.each([
  ['whose certificate is not trusted', { tls: stranger }, 'smtp'],
  [
    'whose certificate is not trusted, with TLS from the start',
    { tls: stranger, isImplicit: true },
    'smtps',
  ],
  ['that offers no TLS', {}, 'smtp'],
])('a server %s gets neither mail nor password, and the mail waits', async (_, options, scheme) => {
  const own = await migratedDatabase()
  const smtp = await openSmtp(options)
  const url = `${scheme}://user:password@127.0.0.1:${smtp.port}?tls=required`
  const node = await openMailNode(own, smtpTransport(url))
  await node.send()
  await until('an attempt has failed', () =>
    node.logged.some(([, , message]) => message.includes('will be retried')) ? true : undefined,
  )
  expect(smtp.accepted).toEqual([])
  expect(smtp.passwords).toEqual([])
  // Waits, because the log entry comes before the database row.
  await until('the mail waits', async () => {
    const jobs = await own.sql(`select state from pgboss.job where name = 'mail.send'`)
    return jobs.length === 1 && jobs[0]?.state === 'retry' ? true : undefined
  })
  expect(await node.traces()).not.toContain('password')
})

it('a server on the loopback address is used with TLS only if it offers TLS', async () => {
  const [offers, lacks] = [await openSmtp({ tls: stranger }), await openSmtp()]
  for (const { port } of [offers, lacks]) {
    const node = await openMailNode(database, smtpTransport(`smtp://127.0.0.1:${port}`))
    await node.send()
    await node.untilNoneWaits()
    await node.stop()
  }
  expect(offers.accepted).toMatchObject([{ isSecure: true }])
  expect(lacks.accepted).toMatchObject([{ isSecure: false }])
})
