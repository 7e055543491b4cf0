/** Rotates keys while the service runs. All data is re-encrypted with new keys, and the old keys are destroyed. */
import { beforeAll, describe, expect, test } from 'vitest'
import { codeOf } from '../support/accounts.ts'
import { type Person, superadmin } from '../support/clinics.ts'
import { openService, type Service, SUPERADMIN } from '../support/service.ts'

let service: Service
let root: Person
const PATIENCE = { timeout: 30_000, interval: 100 }

beforeAll(async () => {
  service = await openService({ background: ['encryption', 'jobs'] })
  root = await superadmin(service)
})

const rotate = (body: object = {}, by = service) =>
  by.call('POST', '/api/admin/encryption/rotate', { token: root.token, body })
const status = () => service.call('GET', '/api/admin/encryption/status', { token: root.token })
const ended = (status_: string) =>
  expect.poll(async () => (await status()).body.status, PATIENCE).toBe(status_)

test('the rotation status is "idle" before the first rotation', async () => {
  expect(await status()).toMatchObject({
    status: 200,
    body: { status: 'idle', key_id: null, waits_for: null },
  })
})

test.each(['', 'short', 'A'.repeat(42), 'g'.repeat(64)])(
  'a rotation refuses the key %j',
  async (new_key) => {
    expect((await rotate({ new_key })).status).toBe(422)
  },
)

describe('a rotation', () => {
  const key = Buffer.alloc(32, 9).toString('hex')

  test('re-encrypts everything, destroys the former keys and keeps the IDs of those keys', async () => {
    const step = (name: string, body?: object) =>
      service.call('POST', `/api/auth/totp/${name}`, { token: root.token, body })
    const { secret } = (await step('setup', { password: SUPERADMIN.password })).body
    expect((await step('enable', { code: codeOf(service, secret) })).status).toBe(200)
    const keys = () =>
      service.database.sql<{ id: string }>('select id::text as id from data_keys order by id')
    const before = await keys()
    expect(before.length).toBeGreaterThan(0)

    const begun = await rotate({ new_key: key })
    expect(begun).toMatchObject({
      status: 200,
      body: { status: 'running', records_total: 1, records_failed: 0, finished_at: null },
    })
    await ended('completed')
    expect((await status()).body).toMatchObject({ records_done: 1, records_failed: 0 })
    const after = await keys()
    for (const { id } of before) expect(after).not.toContainEqual({ id })
    const [named] = await service.database.sql<{ id: string }>(
      'select data_key_id::text as id from second_factors',
    )
    expect(after).toContainEqual(named)
    const destroyed = await service.database.sql<{ kind: string; id: string }>(
      'select kind, id::text as id from destroyed_keys',
    )
    for (const { id } of before) expect(destroyed).toContainEqual({ kind: 'data key', id })
    expect(destroyed).toContainEqual({ kind: 'key-encryption key', id: '1' })
    expect(await service.database.sql('select id::int from key_encryption_keys')).toEqual([
      { id: begun.body.key_id },
    ])
    const login = await service.call('POST', '/api/auth/login', {
      body: { ...SUPERADMIN, subdomain: 'platform', totp_code: codeOf(service, secret) },
    })
    // The enrolment already used this code. The answers to a used code and to a wrong code differ from a failure to
    // decrypt, so either shows that the secret was decrypted.
    expect([200, 401]).toContain(login.status)
  })

  test('with the current key is refused, and neither log nor journal contains a key', async () => {
    expect(await rotate({ new_key: key })).toMatchObject({
      status: 409,
      body: { code: 'key_in_use' },
    })
    const journal = JSON.stringify(await service.database.sql('select * from journal'))
    for (const text of [journal, JSON.stringify(service.logged)]) expect(text).not.toContain(key)
    expect(journal).toContain('encryption.rotation_started')
    expect(journal).toContain('encryption.rotation_completed')
  })

  test('runs once when eight are requested simultaneously on two nodes', async () => {
    const other = await openService({
      database: service.database,
    })
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, index) => rotate({}, index % 2 ? other : service)),
    )
    const codes = answers.map((answer) => answer.status).sort()
    expect(codes).toEqual([200, ...Array(7).fill(409)])
    await ended('completed')
  })

  test('reports values that no key decrypts, skips them, and continues when it is requested again', async () => {
    const [row] = await service.database.sql<{ sealed: Buffer }>(
      'select sealed_secret as sealed from second_factors',
    )
    const intact = row?.sealed as Buffer
    const damaged = Buffer.from(intact)
    damaged[damaged.length - 1] = (damaged.at(-1) ?? 0) ^ 1
    const write = (bytes: Buffer) =>
      service.database.sql('update second_factors set sealed_secret = $1', [bytes])
    await write(damaged)
    const { rotation_id } = (await rotate()).body
    await ended('failed')
    expect((await status()).body).toMatchObject({ rotation_id, records_failed: 1 })
    expect((await status()).body.reason).toMatch(/1 records could not be re-encrypted/)
    const [kept] = await service.database.sql('select sealed_secret as sealed from second_factors')
    expect(kept).toEqual({ sealed: damaged })
    await write(intact)
    expect((await rotate()).body).toMatchObject({ rotation_id, status: 'running' })
    await ended('completed')
    expect((await status()).body).toMatchObject({ rotation_id, records_failed: 0, reason: null })
  })
})

test('an interrupted rotation continues once a process works on it', async () => {
  const api = await openService()
  const by = await superadmin(api)
  const call = (method: string, name: string) =>
    api.call(method, `/api/admin/encryption/${name}`, {
      token: by.token,
      ...(method === 'POST' ? { body: {} } : {}),
    })
  expect((await call('POST', 'rotate')).body.status).toBe('running')
  expect((await call('GET', 'status')).body.status).toBe('running')
  await openService({ background: ['encryption', 'jobs'], database: api.database })
  await expect
    .poll(async () => (await call('GET', 'status')).body.status, PATIENCE)
    .toBe('completed')
})
