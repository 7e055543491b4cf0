/** How often one address may call, and what it is told of it. */
import { describe, expect, test } from 'vitest'
import { openService, type Service, SUPERADMIN } from '../../support/service.ts'

const limited = (config = {}) =>
  openService({ config: { RATE_LIMIT_PER_MINUTE: 3, AUTH_RATE_LIMIT_PER_MINUTE: 2, ...config } })
const alive = (service: Service, headers = {}) => service.call('GET', '/healthz', { headers })
const guess = (service: Service) =>
  service.call('POST', '/api/auth/login', { body: { email: 'a@b.test', password: 'wrong' } })

describe('an address', () => {
  test('is told how many calls it has left, and refused beyond them', async () => {
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

  test('is counted for refused calls too, before anything else is looked at', async () => {
    const service = await limited()
    const statuses: number[] = []
    for (let call = 0; call < 4; call += 1)
      statuses.push((await service.call('GET', '/api/admin/users')).status)
    expect(statuses).toEqual([401, 401, 401, 429])
  })

  test('has fewer guesses at secrets than other calls, counted for themselves', async () => {
    const service = await limited()
    const statuses = [await guess(service), await guess(service), await guess(service)]
    expect(statuses.map((answer) => answer.status)).toEqual([401, 401, 429])
    expect(statuses[2]?.headers['ratelimit-policy']).toBe('"sign-in";q=2;w=60')
    expect((await alive(service)).status).toBe(200)
  })

  test('cannot give itself another name while no proxy is trusted', async () => {
    const service = await limited()
    const statuses: number[] = []
    for (let call = 0; call < 4; call += 1)
      statuses.push((await alive(service, { 'x-forwarded-for': `192.0.2.${call}` })).status)
    expect(statuses.at(-1)).toBe(429)
  })

  test('is the one that the trusted proxy saw, not what was written before it', async () => {
    const service = await limited({ TRUSTED_PROXIES: 1 })
    const from = (address: string) => alive(service, { 'x-forwarded-for': address })
    for (let call = 0; call < 3; call += 1) await from(`203.0.113.${call}, 192.0.2.1`)
    expect((await from('203.0.113.9, 192.0.2.1')).status).toBe(429)
    expect((await from('192.0.2.2')).status).toBe(200)
  })
})

describe('no limit', () => {
  test('is kept, and none told, when it is set to nought', async () => {
    const service = await openService()
    const answer = await service.call('POST', '/api/auth/login', { body: { ...SUPERADMIN } })
    expect(answer.status).toBe(200)
    expect(answer.headers).not.toHaveProperty('ratelimit')
    expect(answer.headers).not.toHaveProperty('ratelimit-policy')
  })
})
