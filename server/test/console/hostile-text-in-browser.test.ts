/** Text chosen by outsiders is shown as plain text on every page, and breaks no layout. */
import type { Browser, Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { newTenant, register } from '../accounts/people.ts'
import { CHROMIUM } from '../support/browser.ts'
import { builtConsole } from '../support/built-console.ts'
import { signIn } from '../support/clinics.ts'
import { dataShown, launchBrowser, openPerson, submitSignIn } from '../support/console-browser.ts'
import { SUPERADMIN } from '../support/open-service.ts'
import { openService, type Service } from '../support/service.ts'

const RIGHT_TO_LEFT_OVERRIDE = '\u202e'
const ZERO_WIDTH = '\u200b'

/** Names that a visitor could register with. The service may refuse some, which then appear on no page. */
const NAMES = [
  '<img src=x onerror="window.hostile=1">',
  '"><script>window.hostile=1</script>',
  '{{constructor.constructor("window.hostile=1")()}}',
  '=HYPERLINK("https://evil.test","Open")',
  'javascript:window.hostile=1',
  `Anna ${RIGHT_TO_LEFT_OVERRIDE}nimdA`,
  `An${ZERO_WIDTH.repeat(40)}na`,
  'م'.repeat(60),
  'x'.repeat(200),
  `${'wide '.repeat(39)}name`,
]

const WIDTHS = [1280, 320]

/** Records in each frame by how many pixels the page is wider than its window, so also while it loads. */
const WATCH_WIDTH = `
  window.overflow = 0
  const watch = () => {
    const { scrollWidth, clientWidth } = document.documentElement
    window.overflow = Math.max(window.overflow, scrollWidth - clientWidth)
    requestAnimationFrame(watch)
  }
  requestAnimationFrame(watch)`

let service: Service
let base: string
let browser: Browser
let clinicId: number
let subdomain: string
let shown: string[]

beforeAll(async () => {
  if (!CHROMIUM) return
  service = await openService({
    consoleFolder: await builtConsole(),
    config: { TRUSTED_PROXIES: 1 },
  })
  const { access_token: token } = await signIn(service, { ...SUPERADMIN, subdomain: 'platform' })
  const clinic = await newTenant(service, token, { registration: 'approval' })
  clinicId = clinic.id
  subdomain = clinic.subdomain
  const made = await Promise.allSettled(
    NAMES.map((full_name) => register(service, subdomain, { full_name })),
  )
  shown = NAMES.filter((_, at) => made[at]?.status === 'fulfilled')
  for (const name of NAMES.slice(0, 1)) {
    const body = { name, tenant_id: clinicId }
    await service.call('POST', '/api/admin/departments', { token, body })
  }
  base = await service.app.server.listen({ host: '127.0.0.1', port: 0 })
  browser = await launchBrowser()
})

async function openConsole(width: number): Promise<Page> {
  const person = await openPerson(browser, base, { viewport: { width, height: 800 } })
  const page = await person.newTab()
  await page.addInitScript(WATCH_WIDTH)
  await page.goto(`/console/t/${clinicId}/users`)
  await submitSignIn(page, { ...SUPERADMIN, subdomain: 'platform' })
  await page.getByRole('heading', { level: 1, name: 'Users' }).waitFor()
  await dataShown(page)
  return page
}

/** Returns the URLs of the pages of the clinic: those of the navigation, and the approvals. */
async function clinicPages(page: Page): Promise<string[]> {
  const found: string[] = await page.evaluate(
    `[...document.querySelectorAll('nav a[href*="/t/${clinicId}"]')].map(({ href }) => href)`,
  )
  expect(found.length).toBeGreaterThan(1)
  return [...new Set([...found, `${base}/console/t/${clinicId}/users/approvals`])]
}

/** Expects that no text became markup or a link, that no script ran, and that the page always fitted its window. */
async function expectHarmless(page: Page, at: string): Promise<void> {
  const found = await page.evaluate(`({
    ran: 'hostile' in window,
    images: document.querySelectorAll('img[src="x"], main script').length,
    links: document.querySelectorAll('a[href^="javascript:"], a[href*="evil.test"]').length,
    overflow: window.overflow,
  })`)
  expect([at, found]).toEqual([at, { ran: false, images: 0, links: 0, overflow: 0 }])
}

describe.skipIf(!CHROMIUM)('hostile text entered by outsiders', () => {
  it.each(WIDTHS)(
    'neither runs nor breaks the layout on any page of a window %i px wide',
    async (width) => {
      const page = await openConsole(width)
      for (const address of await clinicPages(page)) {
        await page.goto(address)
        await dataShown(page)
        expect([address, await page.getByText('This page does not exist').count()]).toEqual([
          address,
          0,
        ])
        await expectHarmless(page, address)
      }
    },
  )

  it('neither runs nor breaks the layout in the panel of any record', async () => {
    const page = await openConsole(1280)
    expect(shown.length).toBeGreaterThan(NAMES.length / 2)
    for (const path of ['users', 'audit']) {
      await page.goto(`/console/t/${clinicId}/${path}`)
      await dataShown(page)
      const links = await page.locator('tbody th a').all()
      for (const link of links.slice(0, NAMES.length)) {
        await link.click()
        await page.locator('aside h2').waitFor()
        await expectHarmless(page, page.url())
      }
    }
  })

  it('does not change the order of the words around it', async () => {
    const page = await openConsole(1280)
    const isolation = await page.evaluate(`[...document.querySelectorAll('tbody th a')]
      .filter(({ textContent }) => textContent.includes('\u0645'))
      .map((link) => getComputedStyle(link.querySelector('bdi') ?? link).unicodeBidi)`)
    expect(isolation).toEqual(['isolate'])
  })
})
