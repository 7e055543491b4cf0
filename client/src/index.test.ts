/** Tests the client with a server that speaks HTTP as the service does: calls, failures and renewal of tokens. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { afterAll, beforeAll, beforeEach, describe, expect, expectTypeOf, test } from 'vitest'
import { type Client, type ClientOptions, createClient, type Tokens } from './index.ts'

interface Call {
  method: string
  url: string
  token: string | null
  body: unknown
}

/** The requests so far, and the tokens that are currently valid. */
const seen: Call[] = []
const good = { access: 'access-1', refresh: 'refresh-1' }
let renewals = 0
let refreshStatus = 200
let logoutStatus = 200
const server = createServer((request, response) => void answer(request, response))
let baseUrl: string

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
})

afterAll(async () => {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

beforeEach(() => {
  seen.length = 0
  Object.assign(good, { access: 'access-1', refresh: 'refresh-1' })
  renewals = 0
  refreshStatus = 200
  logoutStatus = 200
})

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method = '', url = '', headers } = request
  const body = Number(headers['content-length'] ?? 0) > 0 ? await json(request) : undefined
  const token = headers.authorization ?? null
  seen.push({ method, url, token, body })
  const send = (status: number, content: object, fields = {}) =>
    response
      .writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...fields })
      .end(JSON.stringify(content))
  if (url === '/api/auth/refresh') return void renew(body as { refresh_token: string }, send)
  if (url === '/api/auth/login')
    return void send(200, { access_token: good.access, refresh_token: good.refresh, role: 'nurse' })
  if (url === '/api/auth/logout')
    return void send(logoutStatus, { detail: 'out', email_verified: null })
  if (url.endsWith('/departments/502')) return void response.writeHead(502).end()
  if (url.endsWith('/departments/503'))
    return void response.writeHead(503, { 'content-type': 'text/html' }).end('<h1>away</h1>')
  if (url.endsWith('/departments/307'))
    return void response.writeHead(307, { location: '/elsewhere' }).end()
  if (token !== `Bearer ${good.access}`)
    return void send(
      401,
      { detail: 'expired', code: 'invalid_token' },
      { 'www-authenticate': 'Bearer error="invalid_token"' },
    )
  if (method === 'DELETE') return void response.writeHead(204).end()
  if (url === '/openapi.json') return void drip(response)
  send(200, { items: [], url })
}

function renew(
  { refresh_token }: { refresh_token: string },
  send: (status: number, content: object) => void,
): void {
  renewals += 1
  const status = refresh_token === good.refresh ? refreshStatus : 401
  if (status !== 200) send(status, { detail: 'refused' })
  else {
    Object.assign(good, { access: `access-${renewals + 1}`, refresh: `refresh-${renewals + 1}` })
    send(200, { access_token: good.access, refresh_token: good.refresh })
  }
}

/** Sends the first part of a response now and the rest on request, to test that the client streams responses. */
let more: () => void
function drip(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/json' }).write('{"first":1')
  more = () => response.end('}')
}

/** Returns the tokens that are currently valid. */
const now = (): Tokens => ({ access_token: good.access, refresh_token: good.refresh })

/** Creates a client whose access token has expired. */
function late(options: Partial<ClientOptions> = {}): Client {
  const tokens = { access_token: 'expired', refresh_token: good.refresh }
  return createClient({ baseUrl, tokens, ...options })
}

const path = { params: { path: { dept_id: 7 } } }

describe('a call', () => {
  test('writes path, query and body as in the contract', async () => {
    const api = createClient({ baseUrl })
    await api.GET('/api/admin/users', { params: { query: { page: 2, search: 'a b&c' } } })
    await api.POST('/api/auth/verify-email', { params: { query: { token: 'é' } } })
    await api.PUT('/api/preferences/theme', { body: { theme: 'dark' } })
    expect(seen.map(({ method, url, body }) => ({ method, url, body }))).toEqual([
      { method: 'GET', url: '/api/admin/users?page=2&search=a%20b%26c', body: undefined },
      { method: 'POST', url: '/api/auth/verify-email?token=%C3%A9', body: undefined },
      { method: 'PUT', url: '/api/preferences/theme', body: { theme: 'dark' } },
    ])
  })

  test('escapes its path parameters, so that they cannot change the path', async () => {
    const api = createClient({ baseUrl })
    await api.DELETE('/api/auth/sessions/{jti}', { params: { path: { jti: '../a/b?c' } } })
    expect(seen[0]?.url).toBe('/api/auth/sessions/..%2Fa%2Fb%3Fc')
  })

  test('returns neither data nor error for a response without content', async () => {
    const api = createClient({
      baseUrl,
      tokens: { access_token: 'access-1', refresh_token: 'refresh-1' },
    })
    const { data, error, response } = await api.DELETE('/api/admin/departments/{dept_id}', path)
    expect([data, error, response.status]).toEqual([undefined, undefined, 204])
  })

  test.each([
    [502, { detail: 'HTTP 502' }],
    [503, '<h1>away</h1>'],
  ])(
    'returns an error for every failure, including failures of a proxy: %i',
    async (dept_id, expected) => {
      const { data, error } = await createClient({ baseUrl }).DELETE(
        '/api/admin/departments/{dept_id}',
        { params: { path: { dept_id } } },
      )
      expect(data).toBeUndefined()
      expect(error).toEqual(expected)
    },
  )

  test('follows no redirect, because the target would receive the token', async () => {
    const call = late().DELETE('/api/admin/departments/{dept_id}', {
      params: { path: { dept_id: 307 } },
    })
    await expect(call).rejects.toThrow()
    expect(seen.map(({ url }) => url)).toEqual(['/api/admin/departments/307'])
  })

  test('can be aborted, and uses the fetch function of the caller', async () => {
    const api = createClient({ baseUrl, fetch: (request) => fetch(request) })
    const signal = AbortSignal.abort(new Error('enough'))
    await expect(api.GET('/healthz', { signal })).rejects.toThrow('enough')
  })

  test('can be read as a stream while the response is still arriving', async () => {
    const { data } = await late().GET('/openapi.json', { parseAs: 'stream' })
    const reader = (data as ReadableStream<Uint8Array>).getReader()
    const decoded = async () => new TextDecoder().decode((await reader.read()).value)
    expect(await decoded()).toBe('{"first":1')
    more()
    expect(await decoded()).toBe('}')
  })

  test('takes its types from the contract', () => {
    const api = createClient({ baseUrl })
    type Listed = NonNullable<Awaited<ReturnType<typeof list>>['data']>
    const list = () => api.GET('/api/admin/users')
    expectTypeOf<Listed['items'][number]['email']>().toEqualTypeOf<string>()
    expectTypeOf<Listed['limit']>().toEqualTypeOf<number>()
    // @ts-expect-error a required body can't be left out
    void (() => api.POST('/api/admin/departments'))
    // @ts-expect-error a required path parameter can't be left out
    void (() => api.DELETE('/api/admin/departments/{dept_id}', {}))
    // @ts-expect-error there is no such operation
    void (() => api.GET('/api/admin/nothing'))
  })

  test('may omit request fields for which the service has a default', async () => {
    const api = createClient({ baseUrl })
    await api.POST('/api/admin/backup/restore', { body: { backup_id: 'b-1' } })
    await api.POST('/api/patients/search', { body: {} })
    expect(seen.map(({ body }) => body)).toEqual([{ backup_id: 'b-1' }, {}])
  })
})

describe('a session', () => {
  test('starts with the sign-in, and its token is sent with every later call', async () => {
    const kept: (Tokens | null)[] = []
    const api = createClient({ baseUrl, onTokens: (tokens) => kept.push(tokens) })
    const { data } = await api.signIn({ email: 'a@b.test', password: 'secret' })
    await api.GET('/api/users/me')
    expect(data?.role).toBe('nurse')
    expect(seen.map(({ token }) => token)).toEqual([null, 'Bearer access-1'])
    expect(kept).toEqual([{ access_token: 'access-1', refresh_token: 'refresh-1' }])
  })

  test('renews an expired token, and repeats the call with its body', async () => {
    const body = { theme: 'dark' as const }
    expect((await late().PUT('/api/preferences/theme', { body })).response.status).toBe(200)
    expect(seen).toEqual([
      { method: 'PUT', url: '/api/preferences/theme', token: 'Bearer expired', body },
      expect.objectContaining({ url: '/api/auth/refresh', body: { refresh_token: 'refresh-1' } }),
      { method: 'PUT', url: '/api/preferences/theme', token: 'Bearer access-2', body },
    ])
  })

  test('renews once for any number of calls at the same time', async () => {
    const api = late()
    const answers = await Promise.all(Array.from({ length: 20 }, () => api.GET('/api/users/me')))
    expect(new Set(answers.map(({ response }) => response.status))).toEqual(new Set([200]))
    expect(renewals).toBe(1)
  })

  test('renews again when the next token has expired too', async () => {
    const api = late()
    await api.GET('/api/users/me')
    good.access = 'revoked meanwhile'
    expect((await api.GET('/api/users/me')).response.status).toBe(200)
    expect(renewals).toBe(2)
  })

  test('ends when its refresh token is refused, and reports the end once', async () => {
    const kept: (Tokens | null)[] = []
    const api = late({ onTokens: (tokens) => kept.push(tokens) })
    good.refresh = 'another'
    const answers = await Promise.all([api.GET('/api/users/me'), api.GET('/api/auth/me')])
    expect(answers.map(({ error }) => error)).toEqual(Array(2).fill({ detail: 'refused' }))
    expect([renewals, kept]).toEqual([1, [null]])
    await api.GET('/api/users/me')
    expect(seen.at(-1)?.token).toBeNull()
  })

  test.each([429, 503])('continues after the response %i to a token renewal', async (status) => {
    const api = late()
    refreshStatus = status
    expect((await api.GET('/api/users/me')).response.status).toBe(status)
    refreshStatus = 200
    expect((await api.GET('/api/users/me')).response.status).toBe(200)
  })

  test('ends with the sign-out, which sends the refresh token', async () => {
    const kept: (Tokens | null)[] = []
    const api = createClient({ baseUrl, onTokens: (tokens) => kept.push(tokens) })
    await api.signIn({ email: 'a@b.test', password: 'secret' })
    const { data } = await api.signOut({ all_devices: true })
    expect(data?.detail).toBe('out')
    expect(seen.at(-1)).toMatchObject({
      url: '/api/auth/logout',
      token: 'Bearer access-1',
      body: { refresh_token: 'refresh-1', all_devices: true },
    })
    expect(kept.at(-1)).toBeNull()
  })

  test.each([429, 503])('continues after the response %i to a sign-out', async (status) => {
    const kept: (Tokens | null)[] = []
    const api = createClient({ baseUrl, onTokens: (tokens) => kept.push(tokens) })
    await api.signIn({ email: 'a@b.test', password: 'secret' })
    logoutStatus = status
    const { error, response } = await api.signOut()
    expect([error, response.status, kept.includes(null)]).toEqual([
      { detail: 'out', email_verified: null },
      status,
      false,
    ])
    logoutStatus = 200
    await api.signOut()
    expect(seen.at(-1)).toMatchObject({ url: '/api/auth/logout', token: 'Bearer access-1' })
    expect(kept.at(-1)).toBeNull()
  })

  test('continues if a sign-out gets no response', async () => {
    let isCut = false
    const send = (request: Request) =>
      isCut ? Promise.reject(new TypeError('cut')) : fetch(request)
    const api = createClient({ baseUrl, tokens: now(), fetch: send })
    isCut = true
    await expect(api.signOut()).rejects.toThrow('cut')
    isCut = false
    await api.signOut()
    expect(seen.at(-1)).toMatchObject({ url: '/api/auth/logout', token: 'Bearer access-1' })
  })

  test('ends if the sign-out reports that no session exists, and reports its end once', async () => {
    const kept: (Tokens | null)[] = []
    const api = createClient({
      baseUrl,
      tokens: now(),
      onTokens: (tokens) => kept.push(tokens),
    })
    logoutStatus = 401
    expect((await api.signOut()).response.status).toBe(401)
    expect((await api.signOut()).response.status).toBe(401)
    expect(seen.map(({ token }) => token)).toEqual(['Bearer access-1', null])
    expect(kept).toEqual([null])
  })
})

describe('a session that ended or was replaced by another session', () => {
  const body = { theme: 'dark' as const }
  const other = { access_token: 'access-b', refresh_token: 'refresh-b' }
  let kept: (Tokens | null)[]

  beforeEach(() => {
    kept = []
  })

  /** Creates a client with an expired token. Holds back the first response to a path until the test releases it. */
  function lateBehind(path: string) {
    const [held, freed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let isFirst = true
    const api = late({
      onTokens: (tokens) => kept.push(tokens),
      async fetch(request) {
        const answer = await fetch(request)
        if (isFirst && request.url.endsWith(path)) {
          isFirst = false
          held.resolve()
          await freed.promise
        }
        return answer
      },
    })
    return { api, held: held.promise, letGo: freed.resolve }
  }

  async function signInOther(api: Client) {
    Object.assign(good, { access: other.access_token, refresh: other.refresh_token })
    await api.signIn({ email: 'b@b.test', password: 'secret' })
  }

  const tokensOf = (path: string) =>
    seen.filter(({ url }) => url === path).map(({ token }) => token)

  test.each([
    ['the response to its renewal arrives late', '/api/auth/refresh', 200],
    ['the refusal of its renewal arrives late', '/api/auth/refresh', 401],
    ['the 401 response to its call arrives late', '/api/preferences/theme', 200],
  ])(
    'sends no call as another user, and keeps the tokens of the new session: %s',
    async (_, path, status) => {
      const { api, held, letGo } = lateBehind(path)
      refreshStatus = status
      const call = api.PUT('/api/preferences/theme', { body })
      await held
      await signInOther(api)
      letGo()
      expect((await call).response.status).toBe(401)
      expect(tokensOf('/api/preferences/theme')).toEqual(['Bearer expired'])
      expect((await api.GET('/api/users/me')).response.status).toBe(200)
      expect(kept).toEqual([other])
    },
  )

  test('does not delay the renewal of the new session', async () => {
    const { api, held, letGo } = lateBehind('/api/auth/refresh')
    const call = api.GET('/api/auth/me')
    await held
    await signInOther(api)
    good.access = 'another by now'
    expect((await api.GET('/api/users/me')).response.status).toBe(200)
    expect(tokensOf('/api/users/me')).toEqual(['Bearer access-b', 'Bearer access-3'])
    letGo()
    expect((await call).response.status).toBe(401)
    expect(kept).toEqual([other, now()])
  })

  test('does not end the new session with its sign-out', async () => {
    const { api, held, letGo } = lateBehind('/api/auth/logout')
    const signOut = api.signOut()
    await held
    await signInOther(api)
    letGo()
    expect((await signOut).response.status).toBe(200)
    expect((await api.GET('/api/users/me')).response.status).toBe(200)
    expect(kept).toEqual([other])
  })

  test('ends with its sign-out, even if its tokens are renewed at the same time', async () => {
    const { api, held, letGo } = lateBehind('/api/auth/refresh')
    const call = api.GET('/api/auth/me')
    await held
    await api.signOut()
    letGo()
    expect((await call).response.status).toBe(401)
    await api.GET('/api/users/me')
    expect(tokensOf('/api/users/me')).toEqual([null])
    expect(kept).toEqual([null])
  })
})
