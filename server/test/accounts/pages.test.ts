/** The pages that links open: whole, locked down, and nothing in them from elsewhere. */
import { beforeAll, describe, expect, test } from 'vitest'
import { pathBehind } from '../support/prefix-proxy.ts'
import { openService, type Service } from '../support/service.ts'

let service: Service

beforeAll(async () => {
  service = await openService()
})

const get = (url: string) => service.app.server.inject({ method: 'GET', url })

/** What a page or script asks the browser to load. */
const namedIn = (text: string) =>
  [...text.matchAll(/(?:src|href|from)\s*=?\s*["']([^"']+)["']/g)].map(([, name = '']) => name)

describe.each(['/verify-email', '/reset-password', '/invitation'])('%s', (page) => {
  test('is HTML that may load from here and nowhere else', async () => {
    const { statusCode, headers, body } = await get(page)
    expect(statusCode).toBe(200)
    expect(headers['content-type']).toBe('text/html; charset=utf-8')
    const policy = String(headers['content-security-policy'])
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toMatch(/unsafe|https?:|\*/)
    expect(headers['referrer-policy']).toBe('no-referrer')
    expect(headers['x-content-type-options']).toBe('nosniff')
    expect(body).toMatch(/^<!doctype html>/)
    // The policy would not let any of it run.
    expect(body).not.toMatch(/<script>|<style|\son\w+=|\sstyle=/)
  })

  test('does not say the token back, and is the same for everyone', async () => {
    const { body } = await get(`${page}?token=${encodeURIComponent('1.<script>secret')}`)
    expect(body).not.toContain('secret')
    expect(body).toBe((await get(page)).body)
  })

  test('hides the password that is typed, and helps whoever keeps passwords', async () => {
    const { body } = await get(page)
    const fields = [...body.matchAll(/<input\b[^>]*name="password"[^>]*>/g)].map(([field]) => field)
    expect(fields.length).toBeGreaterThan(0)
    for (const field of fields) {
      expect(field).toContain('type="password"')
      expect(field).toMatch(/autocomplete="(new|current)-password"/)
    }
  })

  test('finds all that it names, also behind a proxy that adds a prefix', async () => {
    const seen = new Set<string>()
    const waiting = [page]
    for (let url = waiting.pop(); url; url = waiting.pop()) {
      if (seen.has(url)) continue
      seen.add(url)
      const { statusCode, headers, body } = await get(url)
      expect(statusCode, url).toBe(200)
      if (url.endsWith('.js')) expect(headers['content-type']).toContain('text/javascript')
      if (url.endsWith('.css')) expect(headers['content-type']).toContain('text/css')
      waiting.push(...namedIn(body).map((name) => pathBehind(name, url)))
    }
    expect([...seen].filter((url) => url.endsWith('.js'))).toHaveLength(2)
    expect([...seen].filter((url) => url.endsWith('.css'))).toHaveLength(1)
  })

  test('is not kept by caches, as its address holds a token', async () => {
    expect((await get(page)).headers['cache-control']).toContain('no-store')
  })
})
