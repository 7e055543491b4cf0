/** The rate limit of an IP address, and the headers that describe it. */
import { describe, expect, test } from 'vitest'
import { makeClinic, PASSWORD, type Person, signIn, superadmin } from '../../support/clinics.ts'
import { migratedDatabase } from '../../support/database.ts'
import { openService, type Service, SUPERADMIN } from '../../support/service.ts'

const limited = (config = {}) =>
  openService({ config: { RATE_LIMIT_PER_MINUTE: 3, AUTH_RATE_LIMIT_PER_MINUTE: 2, ...config } })
const alive = (service: Service, headers = {}) => service.call('GET', '/healthz', { headers })
const login = (service: Service, headers = {}) =>
  service.call('POST', '/api/auth/login', {
    body: { email: 'a@b.test', password: 'wrong' },
    headers,
  })
const ask = (service: Service, what: string) =>
  service.call('POST', `/api/auth/${what}`, { body: { email: 'a@b.test' } })

describe('the rate limit of an IP address', () => {
  test('is announced in headers with the remaining calls, and further calls are refused', async () => {
    const service = await limited()
    for (const left of [2, 1, 0]) {
      const answer = await alive(service)
      expect(answer.status).toBe(200)
      expect(answer.headers['ratelimit-policy']).toBe('"requests";q=3;w=60')
      expect(answer.headers.ratelimit).toMatch(new RegExp(`^"requests";r=${left};t=\\d+$`))
    }
    const refused = await alive(service)
    expect(refused).toMatchObject({
      status: 429,
      body: { code: 'too_many_requests', detail: expect.any(String) },
      headers: { 'ratelimit-policy': '"requests";q=3;w=60' },
    })
    expect(refused.headers.ratelimit).toMatch(/^"requests";r=0;t=\d+$/)
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
    expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(60)
  })

  test('also counts calls that are refused, before any other check', async () => {
    const service = await limited()
    const statuses: number[] = []
    for (let call = 0; call < 4; call += 1)
      statuses.push((await service.call('GET', '/api/admin/users')).status)
    expect(statuses).toEqual([401, 401, 401, 429])
  })

  test('is lower for requests of mailed links, which are counted separately', async () => {
    const service = await limited()
    for (const what of ['request-reset', 'resend-verification']) {
      const answers = [await ask(service, what), await ask(service, what), await ask(service, what)]
      expect(answers.map(({ status }) => status)).toEqual([202, 202, 429])
      expect(answers[2]?.headers['ratelimit-policy']).toBe('"guesses";q=2;w=60')
    }
    expect((await alive(service)).status).toBe(200)
  })

  test('is lower for sign-ins', async () => {
    const service = await limited()
    const answers = [await login(service), await login(service), await login(service)]
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 429])
    expect(Number(answers[2]?.headers['retry-after'])).toBeGreaterThan(0)
    expect(Number(answers[2]?.headers['retry-after'])).toBeLessThanOrEqual(60)
  })

  test('cannot be avoided with X-Forwarded-For while no proxy is trusted', async () => {
    const service = await limited()
    const statuses: number[] = []
    for (let call = 0; call < 4; call += 1)
      statuses.push((await alive(service, { 'x-forwarded-for': `192.0.2.${call}` })).status)
    expect(statuses.at(-1)).toBe(429)
  })

  test('is shared by everyone behind an untrusted proxy, so that nobody can sign in once it is reached', async () => {
    const service = await limited()
    for (let call = 0; call < 3; call += 1)
      await alive(service, { 'x-forwarded-for': '203.0.113.1' })
    expect(await login(service, { 'x-forwarded-for': '192.0.2.1' })).toMatchObject({
      status: 429,
      headers: { 'ratelimit-policy': '"requests";q=3;w=60' },
    })
  })

  test('applies to the address that the trusted proxy saw, not to an address that the client claimed', async () => {
    const service = await limited({ TRUSTED_PROXIES: 1 })
    const from = (address: string) => alive(service, { 'x-forwarded-for': address })
    for (let call = 0; call < 3; call += 1) await from(`203.0.113.${call}, 192.0.2.1`)
    expect((await from('203.0.113.9, 192.0.2.1')).status).toBe(429)
    expect((await from('192.0.2.2')).status).toBe(200)
  })

  test('is the same for all ports of the address, and for the IPv6-mapped form', async () => {
    const service = await limited({ TRUSTED_PROXIES: 1 })
    const from = (address: string) => alive(service, { 'x-forwarded-for': address })
    const spellings = ['192.0.2.1:51344', '192.0.2.1:51345', '::ffff:192.0.2.1', '192.0.2.1']
    const statuses: number[] = []
    for (const spelling of spellings) statuses.push((await from(spelling)).status)
    expect(statuses).toEqual([200, 200, 200, 429])
  })
})

describe('the rate limit per IP address', () => {
  test.each([
    ['the documentation', '/docs', 200],
    ['a file of the documentation', '/docs/static/index.css', 200],
    ['a redirect', '/verify-email', 302],
    ['the console', '/console/users', 503],
    ['the OpenAPI document', '/openapi.json', 200],
    ['an unknown path', '/nothing', 404],
    ['a path with invalid percent-encoding', '/api/admin/users/%zz', 422],
    ['a path that is too long', `/api/admin/users/${'x'.repeat(600)}`, 422],
  ])('applies to %s', async (_what, url, status) => {
    const { server } = (await limited()).app
    const statuses: number[] = []
    for (let call = 0; call < 4; call += 1) {
      const answer = await server.inject({ url })
      statuses.push(answer.statusCode)
      expect(answer.headers).toHaveProperty('ratelimit')
      expect(answer.headers).toHaveProperty('x-request-id')
    }
    expect([...new Set(statuses)]).toEqual([status, 429])
  })
})

describe('the rate limit of a user who writes', () => {
  const WRITES = { WRITE_RATE_LIMIT_PER_MINUTE: 2, TENANT_WRITE_RATE_LIMIT_PER_MINUTE: 3 }
  const open = { RATE_LIMIT_PER_MINUTE: 0, AUTH_RATE_LIMIT_PER_MINUTE: 0 }

  test('applies across all IP addresses and together with the tenant, and not to reads', async () => {
    const database = await migratedDatabase()
    // Another node without limits creates the users, so that only this node's limits apply to the test.
    const maker = await openService({ database })
    const clinic = await makeClinic(maker, await superadmin(maker), 'writers')
    const other = await makeClinic(maker, await superadmin(maker), 'others')
    const service = await openService({
      database,
      config: { ...open, ...WRITES, TRUSTED_PROXIES: 1 },
    })
    let calls = 0
    const write = (who: Person) => {
      calls += 1
      return service.call('PUT', '/api/preferences/theme', {
        token: who.token,
        body: { theme: 'dark' },
        headers: { 'x-forwarded-for': `192.0.2.${calls}` },
      })
    }
    const { nurse, doctor, admin } = clinic.people
    const first = await write(nurse)
    expect(first).toMatchObject({
      status: 200,
      headers: { 'ratelimit-policy': '"writes";q=2;w=60, "tenant-writes";q=3;w=60' },
    })
    expect(first.headers.ratelimit).toMatch(/^"writes";r=1;t=\d+, "tenant-writes";r=2;t=\d+$/)
    expect((await write(nurse)).status).toBe(200)
    const refused = await write(nurse)
    expect(refused).toMatchObject({ status: 429, body: { code: 'too_many_requests' } })
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
    // The nurse's refused writes did not count for the tenant, so a colleague has one write left.
    expect((await write(doctor)).status).toBe(200)
    const ofTenant = await write(admin)
    expect(ofTenant).toMatchObject({ status: 429 })
    expect(ofTenant.headers.ratelimit).toMatch(/, "tenant-writes";r=0;t=\d+$/)
    expect((await write(other.people.nurse)).status).toBe(200)
    for (let call = 0; call < 5; call += 1) {
      const read = await service.call('GET', '/api/preferences', { token: nurse.token })
      expect(read.status).toBe(200)
      expect(read.headers).not.toHaveProperty('ratelimit')
      // A search only reads. It is a POST so that URLs contain no names.
      const body = { search: 'nobody' }
      const searched = await service.call('POST', '/api/patients/search', {
        token: nurse.token,
        body,
      })
      expect(searched.status).toBe(200)
      expect(searched.headers).not.toHaveProperty('ratelimit')
    }
  })
})

describe('an operation that ends access', () => {
  test('stays available beyond the limits of user and tenant, up to the limit of the session', async () => {
    // The limit is the number of writes that the superadmin needs to create the clinic.
    const service = await openService({
      config: { WRITE_RATE_LIMIT_PER_MINUTE: 7, TENANT_WRITE_RATE_LIMIT_PER_MINUTE: 8 },
    })
    const clinic = await makeClinic(service, await superadmin(service), 'thieves')
    const { nurse, doctor, receptionist, admin } = clinic.people
    const by = (who: Person, method: 'POST' | 'PUT' | 'DELETE', path: string, body?: object) =>
      service.call(method, path, { token: who.token, body })
    // Refused writes count as well.
    const spend = async (who: Person) => (await by(who, 'PUT', '/api/preferences/theme', {})).status
    for (let call = 0; call < 7; call += 1) expect(await spend(nurse)).toBe(422)
    expect([await spend(nurse), await spend(doctor), await spend(admin)]).toEqual([429, 422, 429])

    const [session] = (await service.call('GET', '/api/auth/sessions', { token: nurse.token })).body
    expect(await by(nurse, 'DELETE', `/api/auth/sessions/${session.jti}`)).toMatchObject({
      status: 200,
      headers: { 'ratelimit-policy': '"revocations";q=7;w=60' },
    })
    expect((await by(receptionist, 'POST', '/api/auth/logout')).status).toBe(200)
    const passwords = { current_password: PASSWORD, new_password: 'renewed-Horse-5' }
    expect((await by(doctor, 'PUT', '/api/users/me/password', passwords)).status).toBe(200)
    const doctors = `/api/admin/users/${doctor.id}`
    expect((await by(admin, 'POST', `${doctors}/block`)).status).toBe(200)
    for (let call = 0; call < 6; call += 1)
      expect((await by(admin, 'DELETE', `${doctors}/totp`)).status).toBe(204)
    const password = 'another-Horse-6'
    expect((await by(admin, 'PUT', `${doctors}/password`, { password })).status).toBe(429)
    // A new sign-in starts a separate session with its own limit.
    const { email } = admin
    const known = { email, password: PASSWORD, subdomain: 'thieves' }
    const { access_token: token } = await signIn(service, known)
    const again = await by({ ...admin, token }, 'PUT', `${doctors}/password`, { password })
    expect(again.status).toBe(200)
  })
})

describe('an untrusted proxy', () => {
  const forwarded = (service: Service, by = '192.0.2.1') =>
    alive(service, { 'x-forwarded-for': by })
  const warnings = ({ logged }: Service) =>
    logged.filter(([level, said]) => level === 'warn' && String(said).includes('X-Forwarded-For'))

  test('is reported in the log once as a warning', async () => {
    const service = await openService()
    await alive(service)
    expect(warnings(service)).toHaveLength(0)
    for (let call = 0; call < 3; call += 1) await forwarded(service)
    expect(warnings(service)).toHaveLength(1)
  })

  test('is not reported behind a trusted proxy, unless the trusted proxy sends no valid address', async () => {
    const service = await openService({ config: { TRUSTED_PROXIES: 1 } })
    await forwarded(service)
    await forwarded(service, '192.0.2.1:51344')
    expect(warnings(service)).toHaveLength(0)
    for (let call = 0; call < 3; call += 1) await forwarded(service, 'unknown')
    expect(warnings(service)).toHaveLength(1)
  })
})

describe('a rate limit of zero', () => {
  test('is neither enforced nor announced in headers', async () => {
    const service = await openService()
    const answer = await service.call('POST', '/api/auth/login', { body: { ...SUPERADMIN } })
    expect(answer.status).toBe(200)
    expect(answer.headers).not.toHaveProperty('ratelimit')
    expect(answer.headers).not.toHaveProperty('ratelimit-policy')
  })
})
