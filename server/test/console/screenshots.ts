/** The browser of the screenshots in README and docs, and the demo clinic's administrator. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { dataShown, launchBrowser, openPerson } from '../support/console-browser.ts'

const FOLDER = join(import.meta.dirname, '../../../coverage/console/pictures')

export const ADMIN = {
  email: 'admin@demo.local',
  password: 'try-Wardkeep-26',
  subdomain: 'demo',
}

/** Opens the sign-in page in a new browser. */
export async function openSignIn(base: string, options: BrowserContextOptions): Promise<Page> {
  const person = await openPerson(await launchBrowser(), base, {
    viewport: { width: 1280, height: 800 },
    reducedMotion: 'reduce',
    ...options,
  })
  const page = await person.newTab()
  await page.goto('/console/sign-in')
  return page
}

/** Saves a picture of the page as it is. */
export async function save(page: Page, name: string): Promise<void> {
  await mkdir(FOLDER, { recursive: true })
  await page.screenshot({ path: join(FOLDER, `${name}.png`) })
}

/** Saves a picture of the page once it shows its data. */
export async function take(page: Page, name: string): Promise<void> {
  await dataShown(page)
  await save(page, name)
}

/** Opens a page, and saves a picture of it. */
export async function show(page: Page, path: string, name: string): Promise<void> {
  await page.goto(`/console/${path}`)
  await take(page, name)
}
