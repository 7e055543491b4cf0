/** The page `/docs` is self-contained. The service serves every file that the page names, under a strict policy. */
import { beforeAll, expect, test } from 'vitest'
import { pathBehind } from '../support/prefix-proxy.ts'
import { openService, type Service } from '../support/service.ts'

let service: Service

beforeAll(async () => {
  service = await openService()
})

const get = (url: string) => service.app.server.inject({ url })

test('the API documentation page names only existing files of the service, behind a path prefix too', async () => {
  const page = await get('/docs')
  expect(page.headers['content-type']).toBe('text/html; charset=utf-8')
  const named = [...page.body.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, name = '']) =>
    pathBehind(name, '/docs'),
  )
  const types = await Promise.all(
    named.map(async (url) => {
      const { statusCode, headers } = await get(url)
      return [url, statusCode, headers['content-type']]
    }),
  )
  expect(types).toEqual([
    ['/docs/static/favicon-32x32.png', 200, 'image/png'],
    ['/docs/static/swagger-ui.css', 200, 'text/css; charset=utf-8'],
    ['/docs/static/index.css', 200, 'text/css; charset=utf-8'],
    ['/docs/static/swagger-ui-bundle.js', 200, 'text/javascript; charset=utf-8'],
    ['/docs/static/open.js', 200, 'text/javascript; charset=utf-8'],
  ])
})

test('the API documentation page is not served with a trailing slash, which would break relative links', async () => {
  expect((await get('/docs/')).statusCode).toBe(404)
})

test('the API documentation page allows scripts and requests only to the service itself', async () => {
  for (const url of ['/docs', '/docs/static/open.js']) {
    const policy = String((await get(url)).headers['content-security-policy'])
    expect(policy).toContain("default-src 'none'; script-src 'self';")
    expect(policy).toContain("connect-src 'self'")
    expect(policy).toContain("frame-ancestors 'none'")
  }
})

test('the API documentation page loads the OpenAPI document of the service, and no external validator', async () => {
  const { body } = await get('/docs/static/open.js')
  expect(body).toContain("url: 'openapi.json'")
  expect(body).toContain('validatorUrl: null')
  expect((await get('/openapi.json')).json()).toHaveProperty('openapi')
})
