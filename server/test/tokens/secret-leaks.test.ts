/** A run that uses every secret. Afterwards no log, journal or table contains a password, token, code or key. */
import { beforeAll, expect, test } from 'vitest'
import { newColleague, refresh } from '../sessions/users.ts'
import { codeOf, mailedToken } from '../support/accounts.ts'
import { type Clinic, makeClinic, PASSWORD, type Person, superadmin } from '../support/clinics.ts'
import { openService, type Service, SUPERADMIN } from '../support/service.ts'

let service: Service
let root: Person
let clinic: Clinic
const secrets = new Set<string>([SUPERADMIN.password, PASSWORD])

beforeAll(async () => {
  service = await openService({ background: ['jobs'] })
  root = await superadmin(service)
  clinic = await makeClinic(service, root, 'north')
  for (const person of [root, ...Object.values(clinic.people)])
    remember(person.token, person.refresh)
  await live()
  await liveByMail()
  await liveWithCodes()
})

function remember(...texts: string[]): void {
  for (const text of texts) {
    secrets.add(text)
    // Records the last part of a token as well, because it is secret even without the rest.
    const tail = text.split('.').at(-1) ?? ''
    if (tail.length >= 40) secrets.add(tail)
  }
}

/** Uses every kind of secret, once correctly and once incorrectly. */
async function live(): Promise<void> {
  const person = await newColleague(service, clinic)
  remember(person.token, person.refresh)
  const login = (password: string, extra: object = {}) => {
    secrets.add(password)
    const body = { email: person.email, password, subdomain: 'north', ...extra }
    return service.call('POST', '/api/auth/login', { body })
  }
  await login('a-wrong-Guess-1')
  await login('a-wrong-Guess-2', { subdomain: 'nowhere' })
  await login('x'.repeat(2_000))
  await login('with-a-NUL-\0-in-it')
  const second = (await login(PASSWORD)).body
  remember(second.access_token, second.refresh_token)
  const third = (await refresh(service, second.refresh_token)).body
  remember(third.access_token, third.refresh_token)
  service.clock.advance(11_000)
  await refresh(service, second.refresh_token)
  const forged = `${clinic.id}.${'forgedSecret'.repeat(4).slice(0, 43)}`
  remember(forged)
  await refresh(service, forged)
  const tampered = `${person.token.slice(0, -6)}TAMPER`
  remember(tampered)
  await service.call('GET', '/api/users/me', { token: tampered })
  await service.call('GET', '/api/admin/users', { token: person.token })
  await service.call('PUT', '/api/users/me/password', {
    token: person.token,
    body: { current_password: secret('not-the-Current-4'), new_password: secret('wanted-Horse-5') },
  })
  await service.call('PUT', `/api/admin/users/${person.id}/password`, {
    token: clinic.people.admin.token,
    body: { password: secret('given-Horse-61') },
  })
  await service.call('POST', '/api/admin/users', {
    token: clinic.people.admin.token,
    body: {
      email: person.email,
      password: secret('taken-Horse-72'),
      full_name: 'Taken',
      role: 'nurse',
    },
  })
  await service.call('POST', '/api/auth/login', {
    payload: `{"email": "${person.email}", "password": "${secret('broken-Horse-83')}"`,
  })
  await service.call('GET', `/api/auth/tenants?access_token=${secret('in-the-Query-94')}`)
  const { token, refresh: own } = clinic.people.nurse
  await service.call('POST', '/api/auth/logout', { token, body: { refresh_token: own } })
}

/** Registers an account and resets its password, using mailed links. */
async function liveByMail(): Promise<void> {
  const whom = { email: 'newcomer@north.test', subdomain: 'north' }
  const password = secret('first-Horse-17')
  const post = (name: string, body: object) =>
    service.call('POST', `/api/auth/${name}`, { body: { ...whom, ...body } })
  const made = await post('register', { password, full_name: 'New', role: 'nurse' })
  expect(made.status).toBe(201)
  const verification = await mailedToken(service, whom.email, 'verify-email')
  remember(verification)
  const query = { token: verification }
  for (const status of [200, 400])
    expect(await service.call('POST', '/api/auth/verify-email', { query })).toMatchObject({
      status,
    })
  await post('request-reset', {})
  const token = await mailedToken(service, whom.email, 'reset-password')
  remember(token)
  for (const status of [200, 400])
    expect(
      await post('reset-password', { token, new_password: secret('second-Horse-18') }),
    ).toMatchObject({ status })
  // Requests a link that stays valid, so that its token is in its table and in a queued mail.
  await post('request-reset', {})
  remember(await mailedToken(service, whom.email, 'reset-password', 1))
}

/** Sets up a second factor, signs in with it, and tries a wrong code. */
async function liveWithCodes(): Promise<void> {
  const { token, email } = clinic.people.doctor
  const step = (name: string, body?: object) =>
    service.call('POST', `/api/auth/totp/${name}`, { token, body })
  const offered = (await step('setup', { password: PASSWORD })).body
  secret(offered.secret)
  await step('enable', { code: secret('wrong-Code-19') })
  const enabled = await step('enable', { code: codeOf(service, offered.secret) })
  expect(enabled.status).toBe(200)
  const codes: string[] = enabled.body.recovery_codes
  for (const code of codes) secret(code)
  const login = (totp_code: string | undefined) =>
    service.call('POST', '/api/auth/login', {
      body: { email, password: PASSWORD, subdomain: 'north', totp_code },
    })
  expect((await login(undefined)).status).toBe(401)
  expect((await login(secret('wrong-Code-20'))).status).toBe(401)
  const entered = await login(codes[0])
  expect(entered.status).toBe(200)
  remember(entered.body.access_token, entered.body.refresh_token)
}

function secret(text: string): string {
  secrets.add(text)
  return text
}

const found = (text: string) =>
  [...secrets].filter(
    (word) => text.includes(word) || text.includes(JSON.stringify(word).slice(1, -1)),
  )

test('the log contains no password, token or key', () => {
  const lines = service.logged.map((line) => JSON.stringify(line, shown)).join('\n')
  expect(lines).toContain('/api/auth/login')
  expect(found(lines)).toEqual([])
})

test('the journal contains no password, token or key', async () => {
  const rows = await service.database.sql<{ row: string }>(
    'select journal::text as row from journal',
  )
  expect(rows.length).toBeGreaterThan(20)
  const text = rows.map(({ row }) => row).join('\n')
  for (const action of ['auth.refresh_reused', 'auth.login_failed', 'user.password_changed'])
    expect(text).toContain(action)
  expect(found(text)).toEqual([])
})

test('no database column contains a password, token or key', async () => {
  const tables = await service.database.sql<{ name: string }>(
    `select format('%I.%I', table_schema, table_name) as name from information_schema.tables
     where table_schema in ('public', 'pgboss') and table_type = 'BASE TABLE'`,
  )
  const names = tables.map(({ name }) => name)
  for (const name of ['account_tokens', 'second_factors', 'recovery_codes', 'data_keys'])
    expect(names).toContain(`public.${name}`)
  expect(names).toContain('pgboss.job_common')
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
