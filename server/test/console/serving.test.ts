/** How the service serves the console: URLs, headers, encodings and caching. */
import { request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { beforeAll, describe, expect, it } from 'vitest'
import { INDEX, madeUpConsole, SCRIPT } from '../support/fake-console.ts'
import { pathBehind } from '../support/prefix-proxy.ts'
import { openService, type Service } from '../support/service.ts'

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
const ASSET = '/console/assets/index-B2m.js'

let service: Service
let behindPrefix: Service
let unbuilt: Service

beforeAll(async () => {
  const consoleFolder = await madeUpConsole()
  service = await openService({ consoleFolder })
  const config = { PUBLIC_URL: 'https://clinic.example/a&b$&' }
  behindPrefix = await openService({ consoleFolder, config })
  unbuilt = await openService()
  await service.app.server.listen({ host: '127.0.0.1', port: 0 })
})

const get = (url: string, headers: Record<string, string> = {}, at = service) =>
  at.app.server.inject({ url, headers })

describe('the URL of a console page', () => {
  it.each(['/console', '/console/', '/console/users/approvals', '/console/t/7/users/?open=3'])(
    'returns index.html: %s',
    async (url) => {
      const { statusCode, headers, body } = await get(url)
      expect([statusCode, body]).toEqual([200, INDEX])
      expect(headers).toMatchObject({
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': POLICY,
        'cache-control': 'no-cache',
        'x-content-type-options': 'nosniff',
        vary: 'accept-encoding',
      })
    },
  )

  it('returns the same response for every URL', async () => {
    const { body } = await get('/console/users?search=<script>secret')
    expect(body).toBe(INDEX)
  })

  it('is the target of redirects from the root path and from links in mails of earlier releases', async () => {
    for (const path of ['/', '/verify-email', '/reset-password', '/invitation']) {
      const { statusCode, headers } = await get(path)
      const target = pathBehind(String(headers.location), path)
      expect([path, statusCode, target]).toEqual([path, 302, `/console${path.replace(/^\/$/, '')}`])
      expect(headers['cache-control']).toBe('no-store')
      expect((await get(target)).body).toBe(INDEX)
    }
  })
})

describe('a file of the console', () => {
  it.each([
    [ASSET, 'text/javascript; charset=utf-8', 'public, max-age=31536000, immutable'],
    [
      '/console/assets/index-x7.css',
      'text/css; charset=utf-8',
      'public, max-age=31536000, immutable',
    ],
    ['/console/theme.js', 'text/javascript; charset=utf-8', 'no-cache'],
    ['/console/icon.svg', 'image/svg+xml', 'no-cache'],
    ['/console/index.html', 'text/html; charset=utf-8', 'no-cache'],
  ])('has this content type, caching rule and security policy: %s', async (url, type, caching) => {
    const { statusCode, headers } = await get(url)
    expect(statusCode).toBe(200)
    expect(headers).toMatchObject({
      'content-type': type,
      'cache-control': caching,
      'content-security-policy': POLICY,
    })
  })

  it.each([
    '/console/assets/index-old.js',
    '/console/assets/index',
    '/console/assets/',
    '/console/assets',
    '/console/nothing.js',
    '/console/users/photo.png',
    '/console/assets/index-B2m.js.br',
    '/console/assets/notes.md',
    '/console/.built-from',
    '/console/.vite/manifest.json',
    '/console//clinic.example',
    '/console/users//clinic.example',
  ])('gets the response 404 if it does not exist: %s', async (url) => {
    const { statusCode, headers, body } = await get(url)
    expect([statusCode, JSON.parse(body)]).toEqual([
      404,
      { detail: expect.any(String), code: 'not_found' },
    ])
    expect(headers).toMatchObject({
      'content-security-policy': POLICY,
      'cache-control': 'no-store',
    })
  })

  it.each([
    ['br, gzip', 'br', brotliDecompressSync],
    ['gzip', 'gzip', gunzipSync],
    ['deflate', undefined, (bytes: Buffer) => bytes],
  ])('is sent compressed if the client accepts it: %s', async (accepted, encoding, decode) => {
    const { headers, rawPayload } = await get(ASSET, { 'accept-encoding': accepted })
    expect(headers).toMatchObject({ vary: 'accept-encoding' })
    expect(headers['content-encoding']).toBe(encoding)
    expect(decode(rawPayload).toString()).toBe(SCRIPT)
    expect(headers['content-length']).toBe(String(rawPayload.length))
  })

  it('is sent uncompressed if the build contains no compressed variant', async () => {
    const { headers } = await get('/console/theme.js', { 'accept-encoding': 'br, gzip' })
    expect(headers['content-encoding']).toBeUndefined()
  })
})

describe('a client with a cached file of the console', () => {
  it.each(['/console', '/console/theme.js', ASSET])('gets 304 without a body: %s', async (url) => {
    const { etag } = (await get(url)).headers
    for (const tags of [etag, `"other", ${etag}`, String(etag).replace('W/', ''), '*']) {
      const { statusCode, headers, body } = await get(url, { 'if-none-match': String(tags) })
      expect([tags, statusCode, body, headers.etag]).toEqual([tags, 304, '', etag])
      expect(headers['content-type']).toBeUndefined()
    }
    expect((await get(url, { 'if-none-match': 'W/"other"' })).statusCode).toBe(200)
  })

  it('gets different ETags for different files', async () => {
    const tags = await Promise.all(
      ['/console', '/console/theme.js', ASSET].map(async (url) => (await get(url)).headers.etag),
    )
    expect(new Set(tags).size).toBe(3)
  })
})

it('a HEAD request for a console file gets the headers of GET', async () => {
  for (const url of ['/console', '/console/users', ASSET, '/console/nothing.js']) {
    const headers = { 'accept-encoding': 'br' }
    const head = await service.app.server.inject({ method: 'HEAD', url, headers })
    const got = await get(url, headers)
    expect([url, head.statusCode, head.body]).toEqual([url, got.statusCode, ''])
    for (const name of ['content-length', 'content-type', 'content-encoding', 'etag'])
      expect([name, head.headers[name]]).toEqual([name, got.headers[name]])
  }
})

it('a client gets compressed console files over a real connection', async () => {
  const { port } = service.app.server.server.address() as AddressInfo
  const bytes = await new Promise<Buffer>((resolve, reject) => {
    const headers = { 'accept-encoding': 'br' }
    request({ port, path: ASSET, headers, agent: false }, async (response) =>
      resolve(Buffer.concat(await response.toArray())),
    )
      .on('error', reject)
      .end()
  })
  expect(brotliDecompressSync(bytes).toString()).toBe(SCRIPT)
})

describe('the service with a path prefix in PUBLIC_URL', () => {
  it('adds the prefix to the file URLs in index.html', async () => {
    const { body, headers } = await get('/console', { 'accept-encoding': 'br' }, behindPrefix)
    const addresses = [...body.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, address]) => address)
    expect(addresses).toEqual(
      ['icon.svg', 'theme.js', 'assets/index-B2m.js'].map(
        (name) => `/a&amp;b$&amp;/console/${name}`,
      ),
    )
    expect(body).toContain('data-path="/console/"')
    expect(headers['content-encoding']).toBeUndefined()
    expect(headers.etag).not.toBe((await get('/console')).headers.etag)
  })

  it('serves all other files unchanged', async () => {
    const accepted = { 'accept-encoding': 'br' }
    const [one, other] = [await get(ASSET, accepted), await get(ASSET, accepted, behindPrefix)]
    expect(other.rawPayload).toEqual(one.rawPayload)
  })
})

it('a service without a built console answers console requests with 503 and an explanation, and serves the API', async () => {
  for (const url of ['/console', '/console/users', ASSET]) {
    const { statusCode, headers, body } = await get(url, {}, unbuilt)
    expect([statusCode, headers['content-type']]).toEqual([503, 'text/plain; charset=utf-8'])
    expect(headers).toMatchObject({
      'content-security-policy': POLICY,
      'cache-control': 'no-store',
    })
    expect(body).toMatch(/^The console is not built\. Run `.+`, then restart the service\.\n$/)
  }
  expect((await get('/readyz', {}, unbuilt)).statusCode).toBe(200)
  expect(unbuilt.logged).toContainEqual(['warn', expect.anything(), 'console not built'])
})
