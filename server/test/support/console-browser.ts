/** The built console in a real browser, on a real service. Whatever the browser complains about fails the test. */
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
import { atTheEnd } from './at-the-end.ts'
import { BROWSER_ARGS, CHROMIUM } from './browser.ts'

const SCREENSHOTS = join(import.meta.dirname, '../../../coverage/console')
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

/** What a page looks like: each theme, wide and narrow. */
export const LOOKS = (['light', 'dark'] as const).flatMap((theme) =>
  [1280, 320].map((width) => ({ theme, width })),
)

/** A person's browser: its tabs share cookies and storage. */
export interface Person {
  context: BrowserContext
  newTab(): Promise<Page>
  /** Lets refusals of these statuses pass, which the test is about. */
  expectStatus(...statuses: number[]): void
}

/** Opens one browser for a test file. Closed with the file. */
export async function launchBrowser(): Promise<Browser> {
  const browser = await chromium.launch({ executablePath: String(CHROMIUM), args: BROWSER_ARGS })
  atTheEnd(() => browser.close())
  return browser
}

/**
 * Opens a browser profile of its own. When it is closed, console errors, policy violations, unexpected statuses and
 * requests to other origins fail the test.
 * @param base the address of the service
 */
export async function openPerson(
  browser: Browser,
  base: string,
  options: BrowserContextOptions = {},
): Promise<Person> {
  const context = await browser.newContext({ baseURL: base, ...options })
  context.setDefaultTimeout(20_000)
  const faults: string[] = []
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
    if (status >= 400 && !expected.has(status)) faults.push(`${status} ${response.url()}`)
  })
  context.on('request', (request) => {
    const url = request.url()
    if (!url.startsWith('data:') && !url.startsWith('blob:') && new URL(url).origin !== origin)
      faults.push(`requested ${url}`)
  })
  atTheEnd(async () => {
    await context.close()
    expect(faults).toEqual([])
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
  await page.getByLabel('Clinic').fill(subdomain)
  await page.getByLabel('E-mail').fill(email)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
}

/** Checks the page with axe, and that nothing of it is wider than the window. Keeps a picture of it. */
export async function inspectPage(page: Page, name: string): Promise<void> {
  const { violations } = await new AxeBuilder({ page }).withTags(RULES).analyze()
  const found = violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`)
  expect([name, found]).toEqual([name, []])
  const overflow = await page.evaluate(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth',
  )
  expect([name, overflow]).toEqual([name, 0])
  await mkdir(SCREENSHOTS, { recursive: true })
  await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`), fullPage: true })
}
