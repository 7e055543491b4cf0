/** No password, link or code appears in the logs, errors, journal or tables after account creation and recovery. */
import { beforeAll, expect, test } from 'vitest'
import { openSealer } from '../../src/platform/crypto/index.ts'
import { codeOf } from '../support/accounts.ts'
import { superadmin } from '../support/clinics.ts'
import { type Answer, openService, ROOT_KEY, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import { askForLink, form, newTenant, PROXIED, post, resetPassword, verifyEmail } from './people.ts'

let service: Service
const secrets = new Set<string>()
const refusals: string[] = []

beforeAll(async () => {
  // Nothing listens on this port, so every mail waits in the queue and each attempt records an error.
  const config = { ...PROXIED, SMTP_URL: 'smtp://someone:smtp-Password-3@127.0.0.1:1' }
  service = await openService({ background: ['jobs'], config })
  secrets.add('smtp-Password-3')
  await live()
})

function secret(text: string): string {
  secrets.add(text)
  return text
}

/** Records a token, and separately the secret part of the token. */
function remember(text: string): string {
  secret(text.split('.').at(-1) ?? '')
  return secret(text)
}

/** Records the text of an error response. */
async function refused(answer: Promise<Answer>): Promise<void> {
  const { status, body, headers } = await answer
  expect(status).toBeGreaterThanOrEqual(400)
  refusals.push(JSON.stringify([body, headers]))
}

/** Returns the token in the newest queued mail with a link to this page. Only the root key decrypts queued mails. */
function waitingToken(page: string, seen = 0): Promise<string> {
  const sealer = openSealer(ROOT_KEY)
  return until(`a link to ${page} waits`, async () => {
    const jobs = await service.database.sql<{ id: string; sealed: string }>(
      `select id, data ->> 'sealed' as sealed from pgboss.job where name = 'mail.send'`,
    )
    const mails = jobs.map(({ id, sealed }) =>
      sealer
        .open(Buffer.from(sealed, 'base64'), { table: 'pgboss.job', column: 'data', row: id })
        .toString('utf8'),
    )
    const tokens = mails
      .map((mail) => JSON.parse(mail) as { text: string; time: number })
      .sort((a, b) => a.time - b.time)
      .flatMap(({ text }) => new RegExp(`/${page}#token=(\\S+)`).exec(text)?.[1] ?? [])
    return tokens.length > seen ? remember(decodeURIComponent(tokens.at(-1) ?? '')) : undefined
  })
}

/** Uses each kind of secret once correctly and once incorrectly. */
async function live(): Promise<void> {
  const root = await superadmin(service)
  const { subdomain } = await newTenant(service, root.token, { registration: 'open' })
  const person = form(subdomain, { password: secret('first-Horse-11') })
  const send = (body: object) => post(service, '/api/auth/register', { body })
  const login = (password: string, extra: object = {}) => {
    const body = { email: person.email, password: secret(password), subdomain, ...extra }
    return post(service, '/api/auth/login', { body })
  }
  const { body: made } = await send(person)
  await refused(send({ ...person, password: secret('taken-Horse-12') }))
  await refused(send({ ...form(subdomain), password: secret('x'.repeat(140)) }))
  await refused(send({ ...form(subdomain), password: secret('role-Horse-13'), role: 'admin' }))
  await refused(send({ ...form('nowhere'), password: secret('lost-Horse-14') }))
  await refused(login('first-Horse-11'))
  const toVerify = await waitingToken('verify-email')
  await refused(verifyEmail(service, remember(`${toVerify.slice(0, -4)}TAMP`)))
  await verifyEmail(service, toVerify)
  await refused(verifyEmail(service, toVerify))
  await askForLink(service, 'request-reset', person.email, subdomain)
  const toReset = await waitingToken('reset-password')
  await refused(resetPassword(service, toReset, secret('y7'.repeat(80))))
  await refused(
    resetPassword(service, remember(`${toReset.slice(0, -4)}TAMP`), secret('x9-Horse-22')),
  )
  await resetPassword(service, toReset, secret('second-Horse-15'))
  await refused(resetPassword(service, toReset, secret('third-Horse-16')))
  await refused(
    post(service, '/api/auth/reset-password', {
      payload: `{"token": "${toReset}", "new_password": "${secret('broken-Horse-17')}"`,
    }),
  )
  const { access_token, refresh_token } = (await login('second-Horse-15')).body
  remember(access_token)
  remember(refresh_token)
  const own = (path: string, body?: object) => post(service, path, { token: access_token, body })
  const factor = secret(
    (await own('/api/auth/totp/setup', { password: 'second-Horse-15' })).body.secret,
  )
  await refused(own('/api/auth/totp/enable', { code: 'not-a-code-18' }))
  const enabled = await own('/api/auth/totp/enable', { code: codeOf(service, factor) })
  for (const code of enabled.body.recovery_codes) secret(code)
  await refused(login('second-Horse-15', { totp_code: secret('wrong-Code-19') }))
  const [recovery] = enabled.body.recovery_codes
  expect((await login('second-Horse-15', { totp_code: recovery })).status).toBe(200)
  await refused(login('second-Horse-15', { totp_code: recovery }))
  await refused(own('/api/auth/totp/disable', { password: secret('wrong-Horse-20') }))
  await until('a mail could not be sent', () =>
    service.logged.some(([, , message]) => String(message).includes('mail.send failed'))
      ? true
      : undefined,
  )
  const { token } = await superadmin(service)
  await service.call('DELETE', `/api/admin/users/${made.id}`, { token })
}

const found = (text: string) => [...secrets].filter((word) => text.includes(word))

test('the test has collected every kind of secret', () => {
  expect(secrets.size).toBeGreaterThan(30)
  expect([...secrets].filter((word) => word.length < 8)).toEqual([])
})

test('no error response contains a secret', () => {
  expect(refusals.length).toBeGreaterThan(12)
  expect(found(refusals.join('\n'))).toEqual([])
})

test('the log contains no secret', () => {
  const lines = service.logged.map((line) => JSON.stringify(line, shown)).join('\n')
  expect(lines).toContain('/api/auth/reset-password')
  expect(lines).toContain('ECONNREFUSED')
  expect(found(lines)).toEqual([])
})

test('the journal contains no secret', async () => {
  const rows = await service.database.sql<{ row: string }>(
    'select journal::text as row from journal',
  )
  const text = rows.map(({ row }) => row).join('\n')
  for (const action of [
    'user.registered',
    'user.email_verified',
    'auth.verification_sent',
    'auth.reset_requested',
    'user.password_changed',
    'auth.totp_enabled',
    'auth.login_failed',
  ])
    expect(text).toContain(action)
  expect(found(text)).toEqual([])
})

test('no table contains a secret, not even the outbox', async () => {
  const tables = await service.database.sql<{ name: string }>(
    `select format('%I.%I', table_schema, table_name) as name from information_schema.tables
     where table_schema in ('public', 'pgboss') and table_type = 'BASE TABLE'`,
  )
  expect(tables.length).toBeGreaterThan(15)
  for (const { name } of tables) {
    const rows = await service.database.sql<{ row: string }>(`select t::text as row from ${name} t`)
    expect(found(rows.map(({ row }) => row).join('\n')), name).toEqual([])
  }
})

/** Converts errors to text, because JSON.stringify serializes them as empty objects. */
function shown(_key: string, value: unknown): unknown {
  if (!(value instanceof Error)) return value
  return { ...value, message: value.message, stack: value.stack, cause: value.cause }
}
