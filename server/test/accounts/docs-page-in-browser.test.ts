/** The API documentation page in a real browser: at the root, and behind a proxy with a prefix (PUBLIC_URL). */
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { CHROMIUM, openPage } from '../support/browser.ts'
import { openPrefixProxy } from '../support/prefix-proxy.ts'
import { openService } from '../support/service.ts'
import { PROXIED } from './people.ts'

let page: Page
const bases: Record<string, string> = {}

beforeAll(async () => {
  if (!CHROMIUM) return
  const service = await openService({ config: PROXIED })
  bases.root = await service.app.server.listen({ host: '127.0.0.1', port: 0 })
  bases.prefix = await openPrefixProxy(service)
  page = await openPage()
})

describe.skipIf(!CHROMIUM).each(['root', 'prefix'])('with PUBLIC_URL at the %s', (at) => {
  const base = () => String(bases[at])

  test('the API documentation page lists the operations, and calls them at the public URL', async () => {
    await page.goto(`${base()}/docs#/Health/getAlive`)
    const operation = page.locator('#operations-Health-getAlive')
    for (const button of ['.try-out__btn', '.execute']) await operation.locator(button).click()
    const answered = operation.locator('.live-responses-table tbody td').first()
    expect(await answered.textContent()).toMatch(/^200/)
    expect(await operation.locator('.request-url pre').textContent()).toBe(`${base()}/healthz`)
  })
})
