/** Calls from browsers of other origins: only configured ones are allowed. */
import { beforeAll, describe, expect, test } from 'vitest'
import { openService, type Service } from '../../support/service.ts'

const CONSOLE = 'https://console.clinic.test'

const preflight = (service: Service, origin: string, method: string) =>
  service.call('OPTIONS', '/api/admin/users/1', {
    headers: {
      origin,
      'access-control-request-method': method,
      'access-control-request-headers': 'authorization,content-type',
    },
  })

describe('if CORS origins are configured,', () => {
  let service: Service
  beforeAll(async () => {
    service = await openService({ config: { CORS_ORIGINS: [CONSOLE, 'https://two.test'] } })
  })

  test('a configured origin may call the API, and read the headers for rate limits and retries', async () => {
    const answer = await service.call('GET', '/healthz', { headers: { origin: CONSOLE } })
    expect(answer.headers['access-control-allow-origin']).toBe(CONSOLE)
    expect(answer.headers.vary).toContain('Origin')
    const exposed = String(answer.headers['access-control-expose-headers'])
    for (const name of ['x-request-id', 'retry-after', 'ratelimit', 'www-authenticate'])
      expect(exposed).toContain(name)
  })

  test('a configured origin may also read error responses', async () => {
    const answer = await service.call('GET', '/api/users/me', { headers: { origin: CONSOLE } })
    expect(answer.status).toBe(401)
    expect(answer.headers['access-control-allow-origin']).toBe(CONSOLE)
  })

  test.each(['GET', 'POST', 'PUT', 'DELETE'])(
    'a configured origin may send a preflight request for %s',
    async (method) => {
      const answer = await preflight(service, CONSOLE, method)
      expect(answer.status).toBe(204)
      expect(answer.headers['access-control-allow-origin']).toBe(CONSOLE)
      expect(String(answer.headers['access-control-allow-methods']).split(/, ?/)).toContain(method)
      expect(answer.headers['access-control-allow-headers']).toBe('authorization,content-type')
    },
  )

  test.each(['https://evil.test', `${CONSOLE}.evil.test`, 'http://console.clinic.test', 'null'])(
    'the origin %s may not call the API',
    async (origin) => {
      const asked = await preflight(service, origin, 'PUT')
      const called = await service.call('GET', '/healthz', { headers: { origin } })
      for (const answer of [asked, called])
        expect(answer.headers).not.toHaveProperty('access-control-allow-origin')
    },
  )

  test('no origin may send cookies', async () => {
    const answer = await preflight(service, CONSOLE, 'PUT')
    expect(answer.headers).not.toHaveProperty('access-control-allow-credentials')
  })
})

describe('if no CORS origins are configured,', () => {
  test('no origin may call the API, and responses have no CORS headers', async () => {
    const service = await openService()
    const answers = [
      await service.call('GET', '/healthz', { headers: { origin: CONSOLE } }),
      await preflight(service, CONSOLE, 'PUT'),
    ]
    for (const { headers } of answers)
      expect(Object.keys(headers).filter((name) => name.startsWith('access-control-'))).toEqual([])
  })
})
