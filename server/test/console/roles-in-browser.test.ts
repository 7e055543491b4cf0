/**
 * Checks the console for each role. Every link leads to a page that the role may open, and a page makes at most two
 * requests and does not flicker.
 */
import type { Browser, Page, Request } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { ROLES, type Role } from '../../src/lib/roles.ts'
import { CHROMIUM } from '../support/browser.ts'
import type { Clinic } from '../support/clinics.ts'
import { dataShown, openPerson, submitSignIn } from '../support/console-browser.ts'
import { SUPERADMIN } from '../support/open-service.ts'
import { openConsole } from './scene.ts'

/**
 * The maximum number of pages to open. The remaining pages are records of lists, which resemble those already opened.
 */
const MAX_PAGES = 40
const MAX_REQUESTS = 2

let clinic: Clinic
let base: string
let browser: Browser

beforeAll(async () => {
  if (!CHROMIUM) return
  ;({ clinic, base, browser } = await openConsole())
})

const credentialsOf = (role: Role) =>
  role === 'superadmin'
    ? { ...SUPERADMIN, subdomain: 'platform' }
    : { ...clinic.people[role], subdomain: clinic.subdomain }

async function openConsoleAs(role: Role): Promise<Page> {
  const page = await (await openPerson(browser, base)).newTab()
  await page.goto('/console')
  await submitSignIn(page, credentialsOf(role))
  await navigationOf(page).waitFor()
  await dataShown(page)
  return page
}

const navigationOf = (page: Page) => page.getByRole('navigation', { name: 'Pages', exact: true })

/** Returns the URLs that the page links to, one for each path and set of parameters. */
async function linksOf(page: Page): Promise<string[]> {
  const hrefs: string[] = await page.evaluate(
    `[...document.querySelectorAll('a[href]')].map(({ href }) => href)`,
  )
  return hrefs.filter((href) => href.startsWith(`${base}/console`))
}

/** Returns the same shape for links to different records of a list. */
function shapeOf(href: string): string {
  const { pathname, searchParams } = new URL(href)
  return `${pathname}?${[...searchParams.keys()].sort().join('&')}`
}

/** Follows every link from the page. Expects a page for the role, without fields that the role cannot use. */
async function followLinks(page: Page): Promise<void> {
  const shapes = new Set<string>()
  const waiting = [page.url(), ...(await linksOf(page))]
  for (const href of waiting) {
    if (shapes.has(shapeOf(href)) || shapes.size >= MAX_PAGES) continue
    shapes.add(shapeOf(href))
    await page.goto(href)
    await dataShown(page)
    const refusals = page.getByText(/This page does not exist|Not available for your role/)
    const dead = page.locator('main :is(input, select, textarea, fieldset):disabled')
    expect([href, await refusals.count(), await dead.count()]).toEqual([href, 0, 0])
    waiting.push(...(await linksOf(page)))
  }
  expect(shapes.size).toBeGreaterThan(1)
}

/** Opens each page of the navigation from another page, without cached data. Expects few requests. */
async function countRequests(page: Page): Promise<void> {
  const links = await navigationOf(page).getByRole('link').all()
  for (const [at, link] of links.entries()) {
    const other = links.at(at - 1)
    // The role has a single page, which is already open.
    if (!other || links.length === 1) return
    await page.goto(String(await other.getAttribute('href')))
    await dataShown(page)
    const requests: string[] = []
    const note = (request: Request) => {
      const { pathname } = new URL(request.url())
      if (/^\/api\/(?!console\/)/.test(pathname)) requests.push(pathname)
    }
    page.on('request', note)
    const [title = ''] = (await link.innerText()).split('\n')
    await link.click()
    await dataShown(page, title)
    page.off('request', note)
    expect(requests.length, requests.join(' ')).toBeGreaterThan(0)
    expect(requests.length, requests.join(' ')).toBeLessThanOrEqual(MAX_REQUESTS)
  }
}

describe.skipIf(!CHROMIUM)('the console', () => {
  it.each(ROLES)(
    'shows the role %s links only to permitted pages, each of which loads with two requests',
    async (role) => {
      const page = await openConsoleAs(role)
      await countRequests(page)
      await followLinks(page)
    },
  )
})

describe.skipIf(!CHROMIUM)('the first load of a list', () => {
  it('shows no loading placeholder for the first 150 ms', async () => {
    const page = await openConsoleAs('admin')
    await page.clock.install()
    const { promise: held, resolve: release } = Promise.withResolvers<void>()
    await page.route('**/api/admin/users?*', async (route) => {
      await held
      await route.continue()
    })
    await page.clock.pauseAt(Date.now() + 60_000)
    await page.getByRole('link', { name: /^Users/ }).click()
    await page.getByRole('heading', { level: 1, name: 'Users' }).waitFor()
    await page.clock.runFor(140)
    expect(await page.locator('.skeleton-line').count()).toBe(0)
    await page.clock.runFor(20)
    await page.locator('.skeleton-line').first().waitFor()
    await page.clock.resume()
    release()
    await page.locator('tbody th a').first().waitFor()
  })
})
