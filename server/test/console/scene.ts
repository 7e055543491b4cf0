/** A clinic with the built console in a real browser, for tests of single pages. */
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core'
import { expect } from 'vitest'
import { builtConsole } from '../support/built-console.ts'
import { type Clinic, makeClinic, superadmin, type Person as User } from '../support/clinics.ts'
import { launchBrowser, openPerson, type Person, submitSignIn } from '../support/console-browser.ts'
import type { OpenOptions } from '../support/open-service.ts'
import { openService, type Service } from '../support/service.ts'

/** A service with a clinic, and a browser. */
export interface ConsoleScene {
  service: Service
  root: User
  clinic: Clinic
  base: string
  browser: Browser
}

/** Opens the service and the browser of a test file. */
export async function openConsole(
  options: Pick<OpenOptions, 'background'> = {},
): Promise<ConsoleScene> {
  const service = await openService({ ...options, consoleFolder: await builtConsole() })
  const root = await superadmin(service)
  const clinic = await makeClinic(service, root, 'north')
  return browse(service, root, clinic)
}

/** Opens a browser for a service that has the built console. */
export async function browse(service: Service, root: User, clinic: Clinic): Promise<ConsoleScene> {
  const base = await service.app.server.listen({ host: '127.0.0.1', port: 0 })
  return { service, root, clinic, base, browser: await launchBrowser() }
}

/** A tab of a person who signed in. */
export interface SignedInTab extends Person {
  page: Page
}

/** The options of a signed-in tab, including those of its browser. */
export interface TabOptions extends BrowserContextOptions {
  /** The path below `/console`. */
  at: string
  subdomain?: string
}

/** Opens a browser profile at a page of the console and signs in there. */
export async function openAs(
  { base, browser, clinic }: ConsoleScene,
  user: User,
  { at, subdomain = clinic.subdomain, ...options }: TabOptions,
): Promise<SignedInTab> {
  const person = await openPerson(browser, base, options)
  const page = await person.newTab()
  await page.goto(`/console${at}`)
  await submitSignIn(page, { ...user, subdomain })
  await page.getByRole('banner').waitFor()
  return { ...person, page }
}

/** Signs in again in a tab that shows the sign-in page. */
export async function signInAgain(page: Page, user: User, subdomain: string): Promise<void> {
  await submitSignIn(page, { ...user, subdomain })
  await page.getByRole('banner').waitFor()
}

type Element = { ownerDocument: { activeElement: unknown } }

/**
 * Waits until an element has the focus.
 * @throws AssertionError when the element does not get the focus in time
 */
export const isFocused = (target: Locator): Promise<void> =>
  expect
    .poll(() =>
      target.evaluate((element: Element) => element === element.ownerDocument.activeElement),
    )
    .toBe(true)

/** Query strings with malformed parameters, which no list accepts. */
export const MALFORMED: readonly string[] = [
  'open=x&page=x&sort=nothing&limit=7&tab=%00',
  'open=-1&page=0&sort=%7B%7D&limit=1e9&unknown=1',
  'open=0&page=-3&limit=-20&search[]=1',
  'open=1.5&page=1.5&sort[]=name&search=%F0%9F%92%89',
  'open=9007199254740993&page=999999&__proto__=1',
  'open=%5B1%5D&page=%5B2%5D&limit=%7B%7D&sort=-&search=%ZZ',
]
