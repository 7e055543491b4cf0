/** Tests iteration over lists with an HTTP server that returns pages as the service does. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, expect, expectTypeOf, test } from 'vitest'
import { type Client, createClient, ListError } from './index.ts'

const seen: string[] = []
const server = createServer(({ url = '' }, response) => {
  seen.push(url)
  const { pathname, searchParams } = new URL(url, 'http://service')
  const from = Number(searchParams.get('after') ?? 1)
  const refused = pathname === '/api/admin/audit' && from > 1
  const body = refused
    ? { detail: 'gone', code: 'not_found' }
    : { items: [{ id: from }, { id: from + 1 }], next: from < 5 ? String(from + 2) : null }
  response
    .writeHead(refused ? 404 : 200, { 'content-type': 'application/json' })
    .end(JSON.stringify(body))
})
let api: Client

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  api = createClient({ baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })
})

afterAll(async () => {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

beforeEach(() => {
  seen.length = 0
})

test('each() yields the records of all pages in order', async () => {
  const params = { query: { role: 'nurse', limit: 2 } } as const
  const users = await Array.fromAsync(api.each('/api/admin/users', { params }))
  expect(users.map(({ id }) => id)).toEqual([1, 2, 3, 4, 5, 6])
  expectTypeOf(users[0]?.email).toEqualTypeOf<string | undefined>()
  expect(seen).toEqual([
    '/api/admin/users?limit=2&role=nurse',
    '/api/admin/users?limit=2&role=nurse&after=3',
    '/api/admin/users?limit=2&role=nurse&after=5',
  ])
})

test('each() fetches a page only when its records are needed', async () => {
  for await (const _ of api.each('/api/patients')) break
  expect(seen).toEqual(['/api/patients?limit=100'])
})

test('each() fills in the path parameters', async () => {
  const params = { path: { webhook_id: 7 } }
  for await (const _ of api.each('/api/webhooks/{webhook_id}/deliveries', { params })) break
  expect(seen).toEqual(['/api/webhooks/7/deliveries?limit=100'])
})

test('each() throws the error of the service if the service rejects a page request', async () => {
  const ids: number[] = []
  const reading = (async () => {
    for await (const { id } of api.each('/api/admin/audit')) ids.push(id)
  })()
  await expect(reading).rejects.toThrow(ListError)
  await expect(reading).rejects.toMatchObject({ status: 404, body: { code: 'not_found' } })
  expect(ids).toEqual([1, 2])
})

test('the types of each() reject paths that are not lists and parameters that choose a page', () => {
  // @ts-expect-error The path of a webhook needs its id.
  expectTypeOf(api.each).toBeCallableWith('/api/webhooks/{webhook_id}/deliveries')
  // @ts-expect-error `each` chooses the pages.
  expectTypeOf(api.each).toBeCallableWith('/api/admin/users', { params: { query: { page: 2 } } })
  // @ts-expect-error Health is not a list.
  expectTypeOf(api.each).toBeCallableWith('/api/admin/health')
})
