/** Failures of SMTP servers: no mail is lost or sent twice, and no content reaches the logs. */
import { beforeEach, expect, it } from 'vitest'
import { smtpTransport } from '../../src/platform/mail/index.ts'
import { migratedDatabase, type TestDatabase } from '../support/database.ts'
import { rowsOf } from '../support/jobs.ts'
import { type MailNode, openMailNode } from '../support/mail.ts'
import { type Fate, openSmtp } from '../support/smtp.ts'
import { until } from '../support/until.ts'

let database: TestDatabase

beforeEach(async () => {
  database = await migratedDatabase()
})

/** The silence after which the sender treats a server as stalled. Used in tests with a silent server. */
const STALL_MS = 2000
const node = (port: number, patienceMs = 20_000) =>
  openMailNode(database, smtpTransport(`smtp://127.0.0.1:${port}`, patienceMs))

const linesOf = (sender: MailNode, level: string) =>
  sender.logged.filter(([found]) => found === level)

/** Expects that the logs contain neither the content nor the recipients of mails, even where a server quotes them. */
async function expectNoTraces(sender: MailNode): Promise<void> {
  const traces = await sender.traces()
  for (const secret of ['tok-4711', 'anna', 'clinic.test', 'Reset your password'])
    expect(traces).not.toContain(secret)
}

const passing: [string, Fate][] = [
  ['is busy when it gets the recipient', { at: 'recipient', code: 450 }],
  ['is busy when it has received the mail', { at: 'data', code: 451 }],
  ['refuses the sender until an operator corrects the configuration', { at: 'sender', code: 550 }],
  ['requires authentication', { at: 'recipient', code: 530 }],
  [
    'refuses to relay until its operator allows it',
    { at: 'recipient', code: 554, status: '5.7.1' },
  ],
  ['blocks the service temporarily', { at: 'data', code: 550, status: '5.7.25' }],
  ['sends no greeting', 'stall at the greeting'],
  ['does not respond after the mail', 'stall at the end'],
  ['closes the connection while it receives the mail', 'die in DATA'],
]

it.each(passing)(
  'a mail is delivered at the third attempt to a server that %s',
  async (_, fate) => {
    const smtp = await openSmtp({ fates: [fate, fate] })
    const sender = await node(smtp.port, String(fate).startsWith('stall') ? STALL_MS : undefined)
    await sender.send()
    await until('it failed once', () => linesOf(sender, 'warn')[0])
    await expectNoTraces(sender)
    await sender.untilNoneWaits()
    expect(smtp.accepted).toHaveLength(1)
    expect(smtp.connections()).toBe(3)
    expect(linesOf(sender, 'warn')).toHaveLength(2)
    expect(linesOf(sender, 'error')).toEqual([])
    await expectNoTraces(sender)
  },
)

it.each([
  ['the recipient', { at: 'recipient', code: 550 }],
  ['the recipient, with an enhanced status', { at: 'recipient', code: 550, status: '5.1.1' }],
  ['the mail', { at: 'data', code: 554 }],
] as const)(
  'a mail is not retried after the permanent refusal of %s, and no address is logged',
  async (_, fate) => {
    const smtp = await openSmtp({ fates: [fate] })
    const sender = await node(smtp.port)
    await sender.send()
    await until('it was given up', () => linesOf(sender, 'error')[0])
    await sender.untilNoneWaits()
    expect(smtp.connections()).toBe(1)
    expect(smtp.accepted).toEqual([])
    expect(await rowsOf(database, 'mail.send')).toEqual([])
    expect(linesOf(sender, 'error')).toHaveLength(1)
    expect(linesOf(sender, 'error')[0]?.[1]).toMatchObject({ job: 'mail.send', attempt: 1 })
    expect(linesOf(sender, 'error')[0]?.[2]).toContain(`answered ${fate.code}`)
    await expectNoTraces(sender)
  },
)

it('a mail is delivered once a server that refused connections accepts them again', async () => {
  const { port, close } = await openSmtp()
  await close()
  const sender = await node(port)
  await sender.send()
  await until('it failed once', () => linesOf(sender, 'warn')[0])
  expect(String(linesOf(sender, 'warn')[0]?.[1].err)).toContain('ECONNREFUSED')
  const back = await openSmtp({ port })
  await sender.untilNoneWaits()
  expect(back.accepted).toHaveLength(1)
})

it('no mail is lost or sent twice through a server that fails in every possible way', async () => {
  const fates = Array.from({ length: 21 }, (_, n) => passing[n % passing.length]?.[1] ?? 'accept')
  const smtp = await openSmtp({ fates })
  const sender = await node(smtp.port, STALL_MS)
  const subjects = Array.from({ length: 25 }, (_, n) => `mail ${n}`)
  await Promise.all(subjects.map((subject) => sender.send({ subject })))
  await sender.untilNoneWaits()
  expect(smtp.accepted.map(({ mail }) => mail.subject ?? '').toSorted()).toEqual(
    subjects.toSorted(),
  )
  expect(new Set(smtp.accepted.map(({ mail }) => mail.messageId)).size).toBe(subjects.length)
})

it('a mail has a Message-ID derived from its job ID, which stays the same in retries', async () => {
  const smtp = await openSmtp({ fates: [{ at: 'data', code: 451 }] })
  const sender = await node(smtp.port)
  await sender.send()
  const job = await until('it waits', async () => (await rowsOf(database, 'mail.send'))[0])
  await sender.untilNoneWaits()
  expect(smtp.accepted[0]?.mail.messageId).toBe(`<${job.id}@wardkeep.test>`)
})
