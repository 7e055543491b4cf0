import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, expectTypeOf, it } from 'vitest'
import { createClient, type PathsWith } from './index.ts'

type Echo = { method: string; url: string; token: string | null; type: string | null; body: string }
type Content<T> = { headers: Record<string, unknown>; content: { 'application/json': T } }
type Fault = { detail: string }
type None = { query?: never; header?: never; path?: never; cookie?: never }

/** In the shape that openapi-typescript generates. */
type Paths = {
  '/items': {
    get: {
      parameters: Omit<None, 'query'> & { query?: { page?: number; tag?: string[] } }
      requestBody?: never
      responses: { 200: Content<Echo>; 401: Content<Fault> }
    }
    post: {
      parameters: None
      requestBody: { content: { 'application/json': { name: string } } }
      responses: { 201: Content<Echo>; 422: Content<{ detail: { loc: string[] }[] }> }
    }
    put?: never
    delete?: never
  }
  '/items/{item_id}': {
    get?: never
    post?: never
    put: {
      parameters: Omit<None, 'path'> & { path: { item_id: number | string } }
      requestBody?: { content: { 'application/json': { name?: string } } }
      responses: { 200: Content<Echo> }
    }
    delete: {
      parameters: Omit<None, 'path'> & { path: { item_id: number } }
      requestBody?: never
      responses: { 204: { headers: Record<string, unknown>; content?: never }; 404: Content<Fault> }
    }
  }
}

const answers: Record<string, { status: number; type?: string; body?: string }> = {
  'DELETE /items/1': { status: 204 },
  'DELETE /items/2': { status: 404, type: 'application/json', body: '{"detail":"Not found"}' },
  'DELETE /items/3': { status: 502 },
  'DELETE /items/4': { status: 503, type: 'text/html', body: '<h1>away</h1>' },
}

async function echo(request: IncomingMessage): Promise<string> {
  const { method = '', url = '', headers } = request
  return JSON.stringify({
    method,
    url,
    token: headers.authorization ?? null,
    type: headers['content-type'] ?? null,
    body: await text(request),
  })
}

describe('the client', () => {
  let server: Server
  let baseUrl: string

  beforeAll(async () => {
    server = createServer(async (request, response) => {
      const answer = answers[`${request.method} ${request.url}`]
      if (answer?.type) response.setHeader('content-type', answer.type)
      else if (!answer) response.setHeader('content-type', 'application/json; charset=utf-8')
      response.writeHead(answer?.status ?? 200).end(answer ? answer.body : await echo(request))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  })

  afterAll(async () => {
    await new Promise((resolve) => server.close(resolve))
  })

  const client = (token?: () => string | Promise<string>) =>
    createClient<Paths>({ baseUrl, ...(token ? { token } : {}) })

  it('asks without options, without a token and without a body', async () => {
    const { data, error, response } = await client().GET('/items')
    expect(response.status).toBe(200)
    expect(error).toBeUndefined()
    expect(data).toEqual({ method: 'GET', url: '/items', token: null, type: null, body: '' })
  })

  it('writes the query, with lists repeated and what is undefined left out', async () => {
    const page: number | undefined = undefined
    const query = { tag: ['a b', 'c&d'], ...(page ? { page } : {}) }
    const { data } = await client().GET('/items', { query })
    expect(data?.url).toBe('/items?tag=a+b&tag=c%26d')
  })

  it('escapes what it puts into a path', async () => {
    const { data } = await client().PUT('/items/{item_id}', { params: { item_id: '../a/b?c' } })
    expect(data?.url).toBe('/items/..%2Fa%2Fb%3Fc')
  })

  it('refuses a path without its parameter', async () => {
    const incomplete = { params: {} as { item_id: number } }
    await expect(client().PUT('/items/{item_id}', incomplete)).rejects.toThrow('item_id')
  })

  it('sends a body as JSON', async () => {
    const { data } = await client().POST('/items', { body: { name: 'é' } })
    expect(data).toMatchObject({ type: 'application/json', body: '{"name":"é"}' })
  })

  it('asks for the token before every call', async () => {
    let turn = 0
    const api = client(async () => `t${++turn}`)
    expect((await api.GET('/items')).data?.token).toBe('Bearer t1')
    expect((await api.GET('/items')).data?.token).toBe('Bearer t2')
  })

  it('gives neither data nor error for an answer without content', async () => {
    const { data, error, response } = await client().DELETE('/items/{item_id}', {
      params: { item_id: 1 },
    })
    expect([data, error, response.status]).toEqual([undefined, undefined, 204])
  })

  it.each([
    [2, { detail: 'Not found' }],
    [3, { detail: 'HTTP 502' }],
    [4, '<h1>away</h1>'],
  ])('always gives an error for a failure (%i)', async (item_id, expected) => {
    const { data, error } = await client().DELETE('/items/{item_id}', { params: { item_id } })
    expect(data).toBeUndefined()
    expect(error).toEqual(expected)
  })

  it('calls the fetch that it was given, and can be aborted', async () => {
    const api = createClient<Paths>({ baseUrl, fetch: (...call) => fetch(...call) })
    const signal = AbortSignal.abort(new Error('enough'))
    await expect(api.GET('/items', { signal })).rejects.toThrow('enough')
  })

  it('takes its types from the contract', () => {
    const api = client()
    type Posted = Awaited<ReturnType<typeof api.POST<'/items'>>>
    expectTypeOf<Extract<Posted, { error: undefined }>['data']>().toEqualTypeOf<Echo>()
    expectTypeOf<Posted['error']>().toEqualTypeOf<{ detail: { loc: string[] }[] } | undefined>()
    expectTypeOf<PathsWith<Paths, 'get'>>().toEqualTypeOf<'/items'>()
    expectTypeOf<PathsWith<Paths, 'put'>>().toEqualTypeOf<'/items/{item_id}'>()
    // @ts-expect-error a required body can't be left out
    void (() => api.POST('/items'))
    // @ts-expect-error a required path parameter can't be left out
    void (() => api.DELETE('/items/{item_id}', {}))
    // @ts-expect-error a GET has no body
    void (() => api.GET('/items', { body: {} }))
  })
})
