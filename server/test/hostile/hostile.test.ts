/** What a hostile or unlucky caller tries: each answer stays small, honest and in its place. */
import { request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { beforeAll, describe, expect, test } from 'vitest'
import { openScopes } from '../../src/platform/db/index.ts'
import { newColleague } from '../sessions/users.ts'
import { type Clinic, makeClinic, PASSWORD, type Person, superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'

let service: Service
let root: Person
let clinic: Clinic

beforeAll(async () => {
  service = await openService()
  root = await superadmin(service)
  clinic = await makeClinic(service, root, 'north')
})

describe('a body made to be refused', () => {
  test('gets an answer that is not much larger than itself', async () => {
    let nested: unknown = Array.from({ length: 20_000 }, () => '\0')
    for (let level = 0; level < 60; level += 1) nested = { ['k'.repeat(2000)]: nested }
    const payload = JSON.stringify({ x: nested })
    const answer = await service.app.server.inject({
      method: 'POST',
      url: '/api/auth/login',
      headers: { 'content-type': 'application/json' },
      payload,
    })
    expect(answer.statusCode).toBe(422)
    expect(answer.body.length).toBeLessThan(payload.length)
    expect(answer.json().detail.length).toBeLessThanOrEqual(20)
  })

  test('is refused with one fault for a whole list of wrong roles', async () => {
    const { token } = clinic.people.admin
    const answer = await service.call('PUT', `/api/admin/tenants/${clinic.id}`, {
      token,
      body: { settings: { require_totp: Array.from({ length: 100_000 }, () => 1) } },
    })
    expect(answer.status).toBe(422)
    expect(answer.body.detail.length).toBeLessThanOrEqual(3)
  })
})

test('who is blocked while sending a body slowly does nothing with it', async () => {
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
    // The head is judged in the turn in which the server has read it; the body is still to come.
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

describe('with a stolen access token of an administrator', () => {
  test('neither their own password nor their own second factor can be set aside', async () => {
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

test('options in the URL of the database do not take the role away', async () => {
  const url = new URL(service.database.url)
  url.searchParams.set('options', '-c search_path=public')
  const db = openScopes(
    { url: url.href },
    {
      size: 1,
      changes: {
        subscribe: () => () => undefined,
        emit: () => undefined,
        announce: () => undefined,
        trusted: () => true,
        stop: async () => undefined,
      },
      onLost: () => undefined,
    },
  )
  const seen = await db.inTenant(clinic.id, (tx) =>
    tx.db.selectFrom('users').select('tenant_id').execute(),
  )
  await db.close()
  expect(new Set(seen.map((row) => row.tenant_id))).toEqual(new Set([clinic.id]))
})

test("other spellings of an address do not fill its mailbox's count", async () => {
  const { email } = clinic.people.doctor
  const ask = (spelled: string) =>
    service.call('POST', '/api/auth/request-reset', {
      body: { email: spelled, subdomain: 'north' },
    })
  for (let times = 0; times < 6; times += 1)
    expect((await ask(email.replace('@', '\u200b@'))).status).toBe(202)
  expect((await ask(email)).status).toBe(202)
  await expect
    .poll(
      async () =>
        (
          await service.database.sql(
            `select id from journal where action = 'auth.reset_requested' and user_id = $1`,
            [clinic.people.doctor.id],
          )
        ).length,
      { timeout: 15_000 },
    )
    .toBe(1)
})

test('a refusal that cannot be journaled is not answered as one', async () => {
  const { token } = clinic.people.nurse
  const path = '/api/admin/users'
  expect((await service.call('GET', path, { token })).status).toBe(403)
  await service.database.sql('revoke insert on journal from wardkeep_app')
  const answer = await service.call('GET', path, { token })
  await service.database.sql('grant insert on journal to wardkeep_app')
  expect(answer).toMatchObject({
    status: 500,
    body: { detail: 'Internal server error', code: 'internal' },
  })
})

test('a name is one line', async () => {
  const answer = await service.call('POST', '/api/admin/departments', {
    token: clinic.people.admin.token,
    body: { name: 'Ward\n\nhttps://evil.example' },
  })
  expect(answer).toMatchObject({
    status: 422,
    body: { detail: [{ loc: ['body', 'name'], type: 'string_pattern_mismatch' }] },
  })
})
