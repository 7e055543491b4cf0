/** Mails without SMTP are files that any mail reader opens. The log contains their path. */
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import PostalMime from 'postal-mime'
import { expect, it, onTestFinished } from 'vitest'
import { outboxTransport } from '../../src/platform/mail/index.ts'
import { migratedDatabase } from '../support/database.ts'
import { MAIL, openMailNode } from '../support/mail.ts'
import { until } from '../support/until.ts'

async function openOutbox() {
  const parent = await mkdtemp('/tmp/wardkeep-outbox-')
  onTestFinished(() => rm(parent, { recursive: true, force: true }))
  const folder = join(parent, 'data', 'outbox')
  const node = await openMailNode(await migratedDatabase(), outboxTransport(folder))
  const files = async (kind = '.eml') =>
    (await readdir(folder)).filter((name) => name.endsWith(kind)).map((name) => join(folder, name))
  return { node, folder, files, read: async (file = '') => PostalMime.parse(await readFile(file)) }
}

it('the outbox writes a mail to a file that only the service can read, and logs the path', async () => {
  const { node, folder, files, read } = await openOutbox()
  await node.send({ to: 'jürgen@clinic.test', subject: 'Passwort zurücksetzen' })
  await node.untilNoneWaits()
  const [file = '', ...others] = await files()
  expect(others).toEqual([])
  expect(file).toMatch(/\/\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z-[0-9a-f-]{36}\.eml$/)
  expect(((await stat(file)).mode & 0o777).toString(8)).toBe('600')
  expect(((await stat(folder)).mode & 0o777).toString(8)).toBe('700')
  const mail = await read(file)
  expect(mail.subject).toBe('Passwort zurücksetzen')
  expect(mail.to?.[0]?.address).toBe('jürgen@clinic.test')
  expect(mail.text?.trim()).toBe(MAIL.text)
  expect(mail.html?.trim()).toBe(MAIL.html)
  expect(Date.parse(mail.date ?? '')).toBeGreaterThan(Date.now() - 60_000)
  expect(node.mailer.isConfigured).toBe(false)
  expect(node.logged.filter(([, fields]) => fields.file === file)).toHaveLength(1)
  expect(await node.traces()).not.toContain('tok-4711')
})

it('the outbox writes RFC 5322 files: CRLF line ends, a blank line after the headers, ASCII headers', async () => {
  const { node, files } = await openOutbox()
  await node.send({ subject: 'Naïve façade', text: 'ä\nb\r\nc' })
  await node.untilNoneWaits()
  const text = await readFile((await files())[0] ?? '', 'latin1')
  expect(text).not.toMatch(/[^\r]\n|\r[^\n]/)
  const head = text.slice(0, text.indexOf('\r\n\r\n'))
  for (const line of head.split('\r\n'))
    expect(line).toMatch(/^([\x21-\x39\x3b-\x7e]+: |[ \t])[ -~\t]*$/)
  for (const name of ['Date', 'From', 'To', 'Subject', 'Message-ID', 'MIME-Version'])
    expect(head.match(new RegExp(`^${name}: `, 'gm'))).toHaveLength(1)
})

it.each([
  ['ASCII', 'Anna'],
  ['other letters', 'Jörg Ñandú'],
])(
  'the outbox writes links that can be copied from the file, in a text with %s',
  async (_, name) => {
    const { node, files } = await openOutbox()
    const link = `http://127.0.0.1:8080/reset-password#token=${'x'.repeat(60)}&tenant=north`
    await node.send({ text: `Hello ${name}\n\n${link}\n`, html: `<p>${name}</p><p>${link}</p>\n` })
    await node.untilNoneWaits()
    const text = await readFile((await files())[0] ?? '', 'utf8')
    expect(text).toContain(`\r\n${link}\r\n`)
    expect(text).toContain(`<p>${link}</p>`)
    expect(text).not.toContain('quoted-printable')
  },
)

it('the outbox writes a text file next to the mail file, with the address and subject', async () => {
  const { node, files } = await openOutbox()
  await node.send({ to: 'anna@clinic.test', subject: 'Hello\r\nthere', text: 'ä\nb' })
  await node.untilNoneWaits()
  const [file = '', ...others] = await files('.txt')
  expect(others).toEqual([])
  expect([file.replace(/txt$/, 'eml')]).toEqual(await files())
  expect(await readFile(file, 'utf8')).toBe('To: anna@clinic.test\nSubject: Hello there\n\nä\nb')
  expect(((await stat(file)).mode & 0o777).toString(8)).toBe('600')
})

it('the outbox adds no header or recipient if the subject contains line breaks', async () => {
  const { node, files, read } = await openOutbox()
  await node.send({ subject: 'Hello\r\nBcc: eve@evil.test\r\n\r\n<b>body</b>\u2028\u0000end' })
  await node.untilNoneWaits()
  const mail = await read((await files())[0])
  expect(mail.subject).toBe('Hello Bcc: eve@evil.test <b>body</b> end')
  expect(mail.bcc ?? []).toEqual([])
  expect(mail.text?.trim()).toBe(MAIL.text)
})

it.each([
  ['a line break', 'anna@clinic.test\r\nBcc: eve@evil.test'],
  ['a second address', 'anna@clinic.test, eve@evil.test'],
  ['a name with another address', '"anna@clinic.test" <eve@evil.test>'],
  ['no domain', 'anna@'],
])(
  'the outbox writes no mail to an address with %s, and logs an error without the address',
  async (_, to) => {
    const { node } = await openOutbox()
    await node.send({ to })
    await until('it was refused', () => node.logged.find(([level]) => level === 'error'))
    await node.untilNoneWaits()
    expect(node.logged.some(([, { file }]) => file)).toBe(false)
    expect(await node.traces()).not.toContain('eve')
  },
)
