/**
 * Every HTTP method at every path gets the operation, 405 with `Allow`, or 204 for OPTIONS. The answer is never a 500.
 */
import { METHODS, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { beforeAll, describe, expect, test } from 'vitest'
import { makeClinic, type Person, superadmin } from '../../support/clinics.ts'
import { openService, type Service } from '../../support/service.ts'

let service: Service
let root: Person
let port: number
/** The methods of each path. Its parameters are replaced by 1. */
let paths: Map<string, string[]>

beforeAll(async () => {
  service = await openService()
  root = await superadmin(service)
  await service.app.server.listen({ host: '127.0.0.1', port: 0 })
  port = (service.app.server.server.address() as AddressInfo).port
  const operations = service.app.operations.map(({ method, path }) => ({
    method,
    url: path.replaceAll(/\{\w+\}/g, '1'),
    pattern: new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`),
  }))
  // A parameter also matches a literal segment, so `/api/patients/search` has the methods of both paths.
  paths = new Map(
    operations.map(({ url }) => {
      const own = operations.filter(({ pattern }) => pattern.test(url))
      const methods = own.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
      return [url, [...new Set([...methods, 'OPTIONS'])]]
    }),
  )
  paths.set('/docs', ['GET', 'HEAD', 'OPTIONS'])
  for (const path of ['/', '/console', '/console/users', '/verify-email'])
    paths.set(path, ['GET', 'HEAD', 'OPTIONS'])
})

interface Answered {
  status: number
  allow: string | undefined
  body: string
}

function send(method: string, path: string, headers: Record<string, string> = {}) {
  return new Promise<Answered>((resolve, reject) => {
    const asking = request({ port, method, path, headers, agent: false }, (answer) => {
      let body = ''
      answer.setEncoding('utf8').on('data', (text) => {
        body += text
      })
      answer.on('end', () =>
        resolve({ status: answer.statusCode ?? 0, allow: answer.headers.allow, body }),
      )
    })
    asking.on('error', reject)
    asking.end()
  })
}

/** CONNECT requests a tunnel: Node closes the connection without an answer. */
const OTHERS = METHODS.filter((method) => method !== 'CONNECT')

describe('a known path', () => {
  test('answers unsupported methods with 405 and a list of the allowed methods', async () => {
    for (const [path, own] of paths)
      for (const method of OTHERS.filter((one) => !own.includes(one))) {
        const { status, allow } = await send(method, path)
        expect([method, path, status, allow]).toEqual([method, path, 405, own.sort().join(', ')])
      }
  })

  test('answers OPTIONS with 204 and a list of the allowed methods', async () => {
    for (const [path, own] of paths) {
      const { status, allow, body } = await send('OPTIONS', path)
      expect([path, status, allow, body]).toEqual([path, 204, own.sort().join(', '), ''])
    }
  })

  test('answers a preflight request like any OPTIONS request if no CORS origin is configured', async () => {
    const headers = { origin: 'https://elsewhere.test', 'access-control-request-method': 'POST' }
    const { status, allow } = await send('OPTIONS', '/api/admin/departments', headers)
    expect([status, allow]).toEqual([204, 'GET, HEAD, OPTIONS, POST'])
    expect((await send('OPTIONS', '/api/admin/nothing', headers)).status).toBe(404)
  })

  test('answers 405 to a signed-in caller before the body is read', async () => {
    const authorization = `Bearer ${root.token}`
    const { status, body } = await send('QUERY', '/api/admin/users', {
      authorization,
      'content-type': 'application/json',
      'content-length': '0',
    })
    expect([status, JSON.parse(body).code]).toEqual([405, 'method_not_allowed'])
  })

  test('answers HEAD like GET, without a body', async () => {
    for (const path of ['/api/admin/users', '/docs', '/openapi.json', '/healthz']) {
      const call = (method: 'GET' | 'HEAD') =>
        service.app.server.inject({
          method,
          url: path,
          headers: { authorization: `Bearer ${root.token}` },
        })
      const [got, head] = [await call('GET'), await call('HEAD')]
      expect([path, head.statusCode, head.body]).toEqual([path, got.statusCode, ''])
      expect(head.headers['content-type']).toBe(got.headers['content-type'])
      expect(head.headers['content-length']).toBe(got.headers['content-length'])
    }
  })
})

test('an unknown path gets 404 with every method', async () => {
  for (const method of OTHERS) {
    const { status, allow } = await send(method, '/api/admin/nothing')
    expect([method, status, allow]).toEqual([method, 404, undefined])
  }
})

describe('a trailing slash in a path', () => {
  test.each(['', '?limit=1'])('does not change the response: %j', async (query) => {
    const { token } = root
    const plain = await service.call('GET', `/api/admin/users${query}`, { token })
    for (const slashes of ['/', '//'])
      expect(
        (await service.call('GET', `/api/admin/users${slashes}${query}`, { token })).body,
      ).toEqual(plain.body)
  })

  test('is accepted when a record is created, read and deleted', async () => {
    const { people } = await makeClinic(service, root, 'slash')
    const { token } = people.admin
    const made = await service.call('POST', '/api/admin/departments/', {
      token,
      body: { name: 'Ward' },
    })
    expect(made.status).toBe(201)
    const path = `/api/admin/departments/${made.body.id}/`
    expect((await service.call('PUT', path, { token, body: { name: 'Ward 2' } })).status).toBe(200)
    expect((await service.call('DELETE', path, { token })).status).toBe(204)
    expect((await service.call('DELETE', '/api/admin/departments/', { token })).status).toBe(405)
  })
})

test('the root path redirects to the console', async () => {
  const { statusCode, headers } = await service.app.server.inject({ method: 'GET', url: '/' })
  expect([statusCode, headers.location]).toEqual([302, 'console'])
})

describe('a body with the Content-Encoding', () => {
  const put = (encoding: string) =>
    service.call('PUT', '/api/preferences/theme', {
      token: root.token,
      body: { theme: 'dark' },
      headers: { 'content-encoding': encoding },
    })

  test.each(['gzip', 'br', 'x-unknown', 'identity, gzip'])('%s is refused', async (encoding) => {
    expect(await put(encoding)).toMatchObject({ status: 415, body: { code: 'encoded_body' } })
  })

  test.each(['identity', 'Identity', ''])('%j is accepted', async (encoding) => {
    expect((await put(encoding)).status).toBe(200)
  })
})
