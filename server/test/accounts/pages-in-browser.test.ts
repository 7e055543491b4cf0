/** The pages in a real browser, at the root and behind a proxy that adds a prefix, as PUBLIC_URL may name one. */
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { mailedToken } from '../support/accounts.ts'
import { CHROMIUM, openPage } from '../support/browser.ts'
import { PASSWORD, superadmin } from '../support/clinics.ts'
import { openPrefixProxy } from '../support/prefix-proxy.ts'
import { openService, type Service } from '../support/service.ts'
import { askForLink, login, newTenant, PROXIED, register, registerConfirmed } from './people.ts'

const NEW_PASSWORD = 'chosen-Horse-61'

let service: Service
let subdomain: string
let page: Page
const bases: Record<string, string> = {}

beforeAll(async () => {
  if (!CHROMIUM) return
  service = await openService({ background: ['jobs'], config: PROXIED })
  const { token } = await superadmin(service)
  subdomain = (await newTenant(service, token, { registration: 'open' })).subdomain
  bases.root = await service.app.server.listen({ host: '127.0.0.1', port: 0 })
  bases.prefix = await openPrefixProxy(service)
  page = await openPage()
})

const statusSays = (text: string) =>
  page.getByRole('status').filter({ hasText: text }).waitFor({ timeout: 20_000 })

/** Opens a page at its link; from when its script has run the token is out of the address. */
async function openLink(base: string, name: string, token: string): Promise<void> {
  await page.goto(`${base}/${name}#token=${encodeURIComponent(token)}`)
  await page.waitForURL(`${base}/${name}`)
  expect(await page.evaluate('document.styleSheets[0].cssRules.length')).toBeGreaterThan(0)
}

async function submit(password: string): Promise<void> {
  await page.locator('input[name=password]').fill(password)
  await page.locator('form button').click()
}

describe.skipIf(!CHROMIUM).each(['root', 'prefix'])('at the %s', (at) => {
  const base = () => String(bases[at])

  test('the link in a mail opens a page that sets a new password', async () => {
    const { email } = await registerConfirmed(service, subdomain)
    await askForLink(service, 'request-reset', email, subdomain)
    await openLink(base(), 'reset-password', await mailedToken(service, email, 'reset-password'))
    await submit(NEW_PASSWORD)
    await statusSays('The password was changed; sign in with it')
    expect((await login(service, email, subdomain, NEW_PASSWORD)).status).toBe(200)
  })

  test('the link in a mail opens a page that confirms the address', async () => {
    const { email } = await register(service, subdomain)
    await openLink(base(), 'verify-email', await mailedToken(service, email, 'verify-email'))
    await submit(PASSWORD)
    await statusSays('The address is confirmed')
  })

  test('the documentation shows the operations, and calls them where they are', async () => {
    await page.goto(`${base()}/docs#/Health/getAlive`)
    const operation = page.locator('#operations-Health-getAlive')
    for (const button of ['.try-out__btn', '.execute']) await operation.locator(button).click()
    const answered = operation.locator('.live-responses-table tbody td').first()
    expect(await answered.textContent()).toMatch(/^200/)
    expect(await operation.locator('.request-url pre').textContent()).toBe(`${base()}/healthz`)
  })
})
