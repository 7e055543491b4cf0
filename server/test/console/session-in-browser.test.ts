/** The session of the console in a real browser: where its secrets are, its tabs, its idle limit, and what ends it. */
import type { Browser, Page } from 'playwright-core'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { MINUTE, SECOND } from '../../src/lib/clock.ts'
import { newColleague, renewAdmin } from '../sessions/users.ts'
import { forgive } from '../support/accounts.ts'
import { CHROMIUM } from '../support/browser.ts'
import { builtConsole } from '../support/built-console.ts'
import { type Clinic, makeClinic, superadmin, type Person as User } from '../support/clinics.ts'
import { launchBrowser, openPerson, submitSignIn } from '../support/console-browser.ts'
import { openService, type Service } from '../support/service.ts'

const TABS = 20
const RELOADS = 50

let service: Service
let clinic: Clinic
let user: User
let base: string
let browser: Browser

beforeAll(async () => {
  if (!CHROMIUM) return
  service = await openService({ consoleFolder: await builtConsole() })
  clinic = await makeClinic(service, await superadmin(service), 'north')
  base = await service.app.server.listen({ host: '127.0.0.1', port: 0 })
  browser = await launchBrowser()
})

beforeEach(async () => {
  if (!CHROMIUM) return
  await renewAdmin(service, clinic)
  await forgive(service)
  user = await newColleague(service, clinic, 'nurse')
})

const credentials = () => ({ ...user, subdomain: clinic.subdomain })

const signedIn = (page: Page, who = user) => page.getByText(who.email).first().waitFor()
const signedOut = (page: Page) =>
  page.getByRole('button', { name: 'Sign in', exact: true }).waitFor()

async function signInAt(page: Page, path = '/console'): Promise<void> {
  await page.goto(path)
  await submitSignIn(page, credentials())
  await signedIn(page)
}

async function signOutOf(page: Page): Promise<void> {
  await page.getByRole('button', { name: user.email }).click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
}

/** Everything that a script of the page can read. */
const readable = (page: Page): Promise<string> =>
  page.evaluate(`(async () => {
    const seen = []
    for (const store of [localStorage, sessionStorage]) seen.push(JSON.stringify({ ...store }))
    for (const { name } of await indexedDB.databases()) seen.push('database ' + name)
    for (const key of await caches.keys()) seen.push('cache ' + key)
    seen.push(document.cookie, location.href, JSON.stringify(history.state))
    for (const key of Object.getOwnPropertyNames(window)) {
      if (typeof window[key] === 'string') seen.push(key + window[key])
    }
    return seen.join('\\n')
  })()`)

describe.skipIf(!CHROMIUM)('a session', () => {
  it('keeps its tokens where no script finds them', async () => {
    const person = await openPerson(browser, base)
    const page = await person.newTab()
    await signInAt(page)
    const [cookie] = await person.context.cookies()
    expect(cookie).toMatchObject({
      name: '__Host-wardkeep',
      httpOnly: true,
      secure: true,
      sameSite: 'Strict',
      path: '/',
      expires: -1,
    })
    const seen = await readable(page)
    expect(seen).not.toContain(cookie?.value)
    expect(seen).not.toMatch(/eyJ|database |cache /)
    expect(seen).not.toContain(user.email)
  })

  it(`goes on in ${TABS} tabs that open at once, and through ${RELOADS} quick reloads`, async () => {
    const person = await openPerson(browser, base)
    const page = await person.newTab()
    await signInAt(page)
    service.clock.advance(2 * MINUTE)
    const tabs = await Promise.all(Array.from({ length: TABS }, () => person.newTab()))
    await Promise.all(tabs.map((tab) => tab.goto('/console')))
    for (const tab of tabs) await signedIn(tab)
    await Promise.all(tabs.map((tab) => tab.close()))
    service.clock.advance(2 * MINUTE)
    for (let reload = 0; reload < RELOADS; reload += 1) {
      await page.goto(`/console/account?reload=${reload}`, { waitUntil: 'commit' })
    }
    await page.goto('/console')
    await signedIn(page)
  })

  it('leaves every tab when one signs out', async () => {
    const person = await openPerson(browser, base)
    const [page, other] = [await person.newTab(), await person.newTab()]
    await signInAt(page)
    await other.goto('/console')
    await signedIn(other)
    await signOutOf(page)
    await Promise.all([signedOut(page), signedOut(other)])
    expect(await other.content()).not.toContain(user.email)
    await other.getByText('You signed out in another tab.').waitFor()
    expect(await person.context.cookies()).toEqual([])
  })

  it('is that of the new person in every tab when another one signs in', async () => {
    const another = await newColleague(service, clinic, 'doctor')
    const person = await openPerson(browser, base)
    const [page, other] = [await person.newTab(), await person.newTab()]
    await signInAt(page)
    await other.goto('/console')
    await signedIn(other)
    await signOutOf(page)
    await signedOut(page)
    await submitSignIn(page, { ...another, subdomain: clinic.subdomain })
    await signedIn(page, another)
    await signedIn(other, another)
    expect(await other.content()).not.toContain(user.email)
  })

  it('returns to the page asked for, and to none elsewhere', async () => {
    const person = await openPerson(browser, base)
    const page = await person.newTab()
    await page.goto('/console/account?tab=sessions')
    await submitSignIn(page, credentials())
    await page.waitForURL('**/console/account?tab=sessions')
    await signOutOf(page)
    await signedOut(page)
    for (const next of [
      'https://evil.test/',
      '//evil.test',
      '/\\evil.test',
      'javascript:alert(1)',
    ]) {
      await page.goto(`/console/sign-in?next=${encodeURIComponent(next)}`)
      await submitSignIn(page, credentials())
      await signedIn(page)
      expect(new URL(page.url()).origin).toBe(base)
      await signOutOf(page)
      await signedOut(page)
    }
  })
})

describe.skipIf(!CHROMIUM)('the idle limit', () => {
  it('warns for a minute, then leaves no datum in the page, also after the machine slept', async () => {
    const person = await openPerson(browser, base)
    const page = await person.newTab()
    await page.clock.install()
    await signInAt(page, '/console/account')
    await page.clock.fastForward(14 * MINUTE + 5 * SECOND)
    const warning = page.getByRole('alertdialog')
    await warning.waitFor()
    await warning.getByRole('button', { name: 'Stay signed in' }).click()
    await warning.waitFor({ state: 'hidden' })
    await page.clock.fastForward(60 * MINUTE)
    await signedOut(page)
    await page.getByText('You were signed out after 15 minutes without activity.').waitFor()
    expect(await page.content()).not.toContain(user.email)
    expect(await person.context.cookies()).toEqual([])
    await submitSignIn(page, credentials())
    await page.waitForURL('**/console/account')
    await signedIn(page)
  })
})

describe.skipIf(!CHROMIUM)('what the service refuses for a while', () => {
  it('is a countdown after too many attempts', async () => {
    const person = await openPerson(browser, base)
    person.expectStatus(401, 429)
    const page = await person.newTab()
    await page.goto('/console/sign-in')
    for (let attempt = 0; attempt < 6; attempt += 1) {
      const answered = page.waitForResponse('**/api/console/session')
      await submitSignIn(page, { ...credentials(), password: 'wrong-Horse-1' })
      await answered
    }
    await page
      .getByText(/Try again in \d+ seconds?\./)
      .first()
      .waitFor()
  })

  it('is one calm banner while a backup is restored, and nobody is signed out', async () => {
    const person = await openPerson(browser, base)
    person.expectStatus(503)
    const page = await person.newTab()
    await signInAt(page, '/console/account')
    const restoring = {
      status: 503,
      headers: { 'retry-after': '1', 'content-type': 'application/json' },
      body: JSON.stringify({ detail: 'A backup is being restored', code: 'restoring' }),
    }
    await page.route('**/api/**', (route) => route.fulfill(restoring))
    await page.reload()
    await page
      .getByText(/Wardkeep does not respond right now|is being restored/)
      .first()
      .waitFor()
    await page.unroute('**/api/**')
    await signedIn(page)
  })

  it('ends only with a sign-out by the service, after which the page is found again', async () => {
    const person = await openPerson(browser, base)
    person.expectStatus(401)
    const page = await person.newTab()
    await signInAt(page, '/console/account')
    await service.call('POST', `/api/admin/users/${user.id}/block`, {
      token: clinic.people.admin.token,
    })
    await page.reload()
    await signedOut(page)
    expect(await page.content()).not.toContain(user.email)
  })
})
