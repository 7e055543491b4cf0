/** Hostile or faulty callers get small and correct responses, and affect no other caller. */
import { request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { beforeAll, describe, expect, test } from 'vitest'
import { systemTime } from '../../src/lib/time.ts'
import { alone, openScopes } from '../../src/platform/db/index.ts'
import { newColleague } from '../sessions/users.ts'
import { mailsTo } from '../support/accounts.ts'
import { type Clinic, makeClinic, PASSWORD, type Person, superadmin } from '../support/clinics.ts'
import { silentLog } from '../support/server-address.ts'
import { openService, type Service } from '../support/service.ts'

let service: Service
let root: Person
let clinic: Clinic

beforeAll(async () => {
  service = await openService({ background: ['jobs'] })
  root = await superadmin(service)
  clinic = await makeClinic(service, root, 'north')
})

describe('a request body designed to cause a large error response', () => {
  const faultsOf = async (path: string, body: object) => {
    const { token } = clinic.people.admin
    const method = path.startsWith('/api/webhooks') ? 'POST' : 'PUT'
    const answer = await service.call(method, path, { token, body })
    expect(answer.status).toBe(422)
    return answer.body.detail as { loc: string[]; msg: string }[]
  }

  test('of 1 MiB is not read if the operation requires no token', async () => {
    const lists = { x: Array.from({ length: 300_000 }, () => ({})) }
    const keys = Object.fromEntries(Array.from({ length: 95_000 }, (_, at) => [`k${at}`, 0]))
    for (const body of [lists, keys])
      expect((await service.call('POST', '/api/auth/login', { body })).status).toBe(413)
  })

  test('gets one error for a long list of invalid roles', async () => {
    const require_totp = Array.from({ length: 30_000 }, () => 1)
    const faults = await faultsOf(`/api/admin/tenants/${clinic.id}`, { settings: { require_totp } })
    expect(faults.map(({ loc }) => loc.join('.'))).toEqual(['body.settings.require_totp'])
  })

  test('gets one error for a long list of numbers instead of event names', async () => {
    const events = Array.from({ length: 30_000 }, () => 0)
    const faults = await faultsOf('/api/webhooks/register', { url: 'https://a.test/', events })
    expect(faults).toMatchObject([{ loc: ['body', 'events'], type: 'too_long' }])
  })

  test('gets at most fifty errors, the last of which states the number of the others', async () => {
    const events = Array.from({ length: 100 }, () => 'nothing')
    const faults = await faultsOf('/api/webhooks/register', { url: 7, events })
    expect(faults).toHaveLength(50)
    expect(faults[0]?.loc).toEqual(['body', 'url'])
    expect(faults.at(-1)).toEqual({
      loc: ['body'],
      msg: 'Value error, and 52 more errors',
      type: 'value_error',
    })
  })

  test('gets a response that is smaller than the body itself', async () => {
    let nested: unknown = Array.from({ length: 3_000 }, () => '\0')
    for (let level = 0; level < 30; level += 1) nested = { ['k'.repeat(1000)]: nested }
    const faults = await faultsOf(`/api/admin/tenants/${clinic.id}`, { settings: nested })
    expect(faults).toHaveLength(20)
    expect(JSON.stringify(faults).length).toBeLessThan(JSON.stringify(nested).length)
  })
})

test('a request has no effect if its user is blocked while its body arrives slowly', async () => {
  await service.app.server.listen({ host: '127.0.0.1', port: 0 })
  const { port } = service.app.server.server.address() as AddressInfo
  const made = await newColleague(service, clinic, 'admin')
  const body = JSON.stringify({ full_name: 'Changed' })
  const status = await new Promise<number | undefined>((resolve, reject) => {
    const sending = httpRequest(
      {
        port,
        method: 'PUT',
        path: `/api/admin/users/${clinic.people.nurse.id}`,
        headers: {
          authorization: `Bearer ${made.token}`,
          'content-type': 'application/json',
          'content-length': body.length,
        },
      },
      (response) => resolve(response.resume().statusCode),
    )
    sending.once('error', reject)
    // Continues once the server has read the request head. The body arrives later.
    service.app.server.server.once('request', () =>
      setImmediate(async () => {
        const { token } = clinic.people.admin
        await service.call('POST', `/api/admin/users/${made.id}/block`, { token })
        sending.end(body.slice(1))
      }),
    )
    sending.write(body.slice(0, 1))
  })
  expect(status).toBe(401)
  const { body: nurse } = await service.call('GET', `/api/admin/users/${clinic.people.nurse.id}`, {
    token: clinic.people.admin.token,
  })
  expect(nurse.full_name).not.toBe('Changed')
})

describe("the thief of an administrator's access token", () => {
  test("cannot remove the administrator's second factor or change the password", async () => {
    const { token, id } = clinic.people.admin
    const password = await service.call('PUT', `/api/admin/users/${id}/password`, {
      token,
      body: { password: 'a-Thief-was-here-1' },
    })
    const factor = await service.call('DELETE', `/api/admin/users/${id}/totp`, { token })
    for (const answer of [password, factor])
      expect(answer).toMatchObject({ status: 409, body: { code: 'own_account' } })
    const signIn = { email: clinic.people.admin.email, password: PASSWORD, subdomain: 'north' }
    expect((await service.call('POST', '/api/auth/login', { body: signIn })).status).toBe(200)
  })
})

test('options in the database URL cannot bypass the application role', async () => {
  const url = new URL(service.database.url)
  url.searchParams.set('options', '-c search_path=public')
  const db = openScopes(
    { url: url.href },
    {
      clock: systemTime,
      size: 1,
      changes: alone,
      log: silentLog,
    },
  )
  const seen = await db.inTenant(clinic.id, (tx) =>
    tx.db.selectFrom('users').select('tenant_id').execute(),
  )
  await db.close()
  expect(new Set(seen.map((row) => row.tenant_id))).toEqual(new Set([clinic.id]))
})

describe('another spelling of an e-mail address', () => {
  const spellings = [
    (email: string) => email.replace('@', '\u200b@'),
    (email: string) => email.replace('i', '\u0130'),
    (email: string) => email.replace('k', '\u212a'),
    (email: string) => email.replace('k', '\uff4b'),
    (email: string) => email.replace('k', '\uff2b').toUpperCase(),
  ]
  const address = 'nikki.kirk@north.test'

  beforeAll(async () => {
    await makePerson(address)
    await service.database.sql('update users set email_verified_at = now() where email = $1', [
      address,
    ])
  })

  test('causes no additional mails to the mailbox', async () => {
    const ask = (email: string) =>
      service.call('POST', '/api/auth/request-reset', { body: { email, subdomain: 'north' } })
    for (const spell of spellings)
      for (let times = 0; times < 3; times += 1)
        expect((await ask(spell(address))).status).toBe(202)
    await service.idle('jobs')
    const mails = await mailsTo(service, address)
    expect(mails.filter(({ subject }) => subject === 'Choose a new password')).toHaveLength(3)
  })

  test('allows no additional guesses at the account', async () => {
    const guess = (email: string) =>
      service.call('POST', '/api/auth/login', {
        body: { email, password: 'wrong-Horse-1', subdomain: 'north' },
      })
    for (let times = 0; times < 5; times += 1) await guess(address)
    for (const spell of spellings) {
      const email = spell(address)
      const answer = await guess(email)
      // A spelling that matches the account counts towards its limit. Any other spelling does not match the account.
      const right = await service.call('POST', '/api/auth/login', {
        body: { email, password: PASSWORD, subdomain: 'north' },
      })
      expect(answer.status).toBe(email.includes('\u0130') ? 401 : 429)
      expect(right.status).not.toBe(200)
    }
  })

  test('allows no second account', async () => {
    const { token } = clinic.people.admin
    for (const spell of [...spellings, (email: string) => email.toUpperCase()]) {
      const answer = await service.call('POST', '/api/admin/users', {
        token,
        body: { email: spell(address), password: PASSWORD, full_name: 'Two', role: 'nurse' },
      })
      expect([409, 422]).toContain(answer.status)
    }
  })

  async function makePerson(email: string) {
    const answer = await service.call('POST', '/api/admin/users', {
      token: clinic.people.admin.token,
      body: { email, password: PASSWORD, full_name: 'Nikki Kirk', role: 'nurse' },
    })
    expect(answer.status).toBe(201)
  }
})

test('a refused request is answered 500 if the refusal cannot be journaled', async () => {
  const { token } = clinic.people.nurse
  const path = '/api/admin/users'
  expect((await service.call('GET', path, { token })).status).toBe(403)
  await service.database.sql('revoke insert on refusals from wardkeep_app')
  const answer = await service.call('GET', path, { token })
  await service.database.sql('grant insert on refusals to wardkeep_app')
  expect(answer).toMatchObject({
    status: 500,
    body: { detail: 'Internal server error', code: 'internal' },
  })
})

test.each([
  ['contains no line breaks', 'Ward\n\nhttps://evil.example'],
  ['contains no direction marks', 'Ward \u202egnp.exe'],
  ['contains no zero-width space', 'Wa\u200brd'],
  ['contains no other invisible characters', 'Ward\u{e0041}\ufeff\u00ad'],
])('a name %s, or the request is rejected', async (_, name) => {
  const { token } = clinic.people.admin
  const answer = await service.call('POST', '/api/admin/departments', { token, body: { name } })
  expect(answer).toMatchObject({
    status: 422,
    body: { detail: [{ loc: ['body', 'name'], type: 'string_pattern_mismatch' }] },
  })
})

test('a name keeps characters that join letters', async () => {
  const { token } = clinic.people.admin
  const body = { name: 'می\u200cخواهم 👩🏽\u200d⚕️' }
  const answer = await service.call('POST', '/api/admin/departments', { token, body })
  expect(answer).toMatchObject({ status: 201, body })
})

test('the Host header determines the tenant, never X-Forwarded-Host, behind a proxy too', async () => {
  const proxied = await openService({
    background: ['jobs'],
    database: service.database,
    config: { TRUSTED_PROXIES: 1 },
  })
  const register = (headers: Record<string, string>) =>
    proxied.call('POST', '/api/auth/register', {
      body: {
        email: 'by-host@north.test',
        password: 'a-Fine-Secret-3',
        full_name: 'By Host',
        role: 'nurse',
      },
      headers,
    })
  const forwarded = { 'x-forwarded-host': 'north.wardkeep.test', 'x-forwarded-for': '192.0.2.1' }
  expect(await register({ host: 'wardkeep.test', ...forwarded })).toMatchObject({ status: 404 })
  expect(await register({ host: 'north.wardkeep.test' })).toMatchObject({
    status: 201,
    body: { tenant_id: clinic.id },
  })
})
