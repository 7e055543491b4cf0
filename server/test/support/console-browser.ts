/** The built console in a real browser, on a real service. Any complaint of the browser fails the test. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { AxeBuilder } from '@axe-core/playwright'
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from 'playwright-core'
import { expect } from 'vitest'
import { BROWSER_ARGS, CHROMIUM } from './browser.ts'
import { atTheEnd } from './cleanup.ts'

const SCREENSHOTS = join(import.meta.dirname, '../../../coverage/console')
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

/** A look of the console: a theme, and a width of the window in pixels. */
interface Look {
  theme: 'light' | 'dark'
  width: number
}

/** True if `npm run console:full` runs the tests. */
export const isEveryLook = process.env.CONSOLE_LOOKS === 'all'

/** The looks in which pages are inspected: both themes and both widths, in every combination with `console:full`. */
export const LOOKS: readonly Look[] = [
  { theme: 'light', width: 1280 },
  { theme: 'dark', width: 320 },
  ...(isEveryLook
    ? ([
        { theme: 'light', width: 320 },
        { theme: 'dark', width: 1280 },
      ] as const)
    : []),
]

/** A browser profile of one person. Its tabs share cookies and storage. */
export interface Person {
  context: BrowserContext
  newTab(): Promise<Page>
  /** Accepts these error statuses. A test calls this when it provokes the errors on purpose. */
  expectStatus(...statuses: number[]): void
}

/** Opens one browser for a test file. The browser closes at the end of the file. */
export async function launchBrowser(): Promise<Browser> {
  const browser = await chromium.launch({ executablePath: String(CHROMIUM), args: BROWSER_ARGS })
  atTheEnd(() => browser.close())
  return browser
}

/**
 * Opens a separate browser profile. When it is closed, console errors, policy violations, unexpected statuses and
 * requests to other origins fail the test.
 * @param base the address of the service
 */
export async function openPerson(
  browser: Browser,
  base: string,
  options: BrowserContextOptions = {},
): Promise<Person> {
  const context = await browser.newContext({ baseURL: base, ...options })
  // The same limit as for `expect.poll`: it ends what hangs, also on a busy machine.
  context.setDefaultTimeout(60_000)
  const faults: string[] = []
  const refusals: { status: number; url: string }[] = []
  const expected = new Set<number>()
  const { origin } = new URL(base)
  context.on('console', (message) => {
    const isStatus = /Failed to load resource: the server responded with a status/.test(
      message.text(),
    )
    if (['error', 'warning'].includes(message.type()) && !isStatus) faults.push(message.text())
  })
  context.on('weberror', (error) => faults.push(error.error().message))
  context.on('response', (response) => {
    const status = response.status()
    if (status >= 400) refusals.push({ status, url: response.url() })
  })
  context.on('request', (request) => {
    const url = request.url()
    if (!url.startsWith('data:') && !url.startsWith('blob:') && new URL(url).origin !== origin)
      faults.push(`requested ${url}`)
  })
  atTheEnd(async () => {
    await context.close()
    const unexpected = refusals.filter(({ status }) => !expected.has(status))
    expect([...faults, ...unexpected]).toEqual([])
  })
  return {
    context,
    newTab: () => context.newPage(),
    expectStatus: (...statuses) => {
      for (const status of statuses) expected.add(status)
    },
  }
}

/** Fills in the sign-in form and sends it. */
export async function submitSignIn(
  page: Page,
  { email, password, subdomain }: { email: string; password: string; subdomain: string },
): Promise<void> {
  await page.getByRole('combobox', { name: 'Clinic' }).fill(subdomain)
  await page.getByLabel('E-mail').fill(email)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
}

/**
 * Waits until a page shows its data.
 * @param title the title of the page, needed if the browser shows it without loading a new document
 */
export async function dataShown(page: Page, title?: string): Promise<void> {
  const heading = page.locator('main').getByRole('heading', { level: 1 })
  await (title === undefined ? heading : heading.filter({ hasText: title })).waitFor()
  // Parts that load are marked busy from the start, before their skeleton shows.
  await page.locator('main [aria-busy=true]').first().waitFor({ state: 'detached' })
}

/**
 * Resolves once every finite animation of the page has ended. A panel that is still fading in would fail the contrast
 * check.
 */
const STILL = `Promise.allSettled(
  document.getAnimations()
    .filter((animation) => animation.effect.getComputedTiming().endTime !== Infinity)
    .map((animation) => animation.finished),
)`

/** Checks the page with axe, and checks that no element is wider than the window. Saves a screenshot. */
export async function inspectPage(page: Page, name: string): Promise<void> {
  await page.evaluate(STILL)
  // A control that is half under the top bar would fail the check of target sizes.
  await page.evaluate('scrollTo(0, 0)')
  // The console has no frames. Without the legacy mode, each check would open another page to collect their results.
  const axe = new AxeBuilder({ page }).setLegacyMode()
  const { violations } = await axe
    .options({ runOnly: { type: 'tag', values: RULES }, resultTypes: ['violations'] })
    .analyze()
  const found = violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`)
  expect([name, found]).toEqual([name, []])
  const overflow = await page.evaluate(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth',
  )
  expect([name, overflow]).toEqual([name, 0])
  await mkdir(SCREENSHOTS, { recursive: true })
  await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`), fullPage: true })
}
