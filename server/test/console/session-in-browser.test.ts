/** The session of the console in a real browser: where its secrets are stored, its tabs, its idle limit and its end. */
import type { Browser, Page } from 'playwright-core'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { MINUTE, SECOND } from '../../src/lib/clock.ts'
import { newColleague, renewAdmin } from '../sessions/users.ts'
import { forgive } from '../support/accounts.ts'
import { CHROMIUM } from '../support/browser.ts'
import type { Clinic, Person as User } from '../support/clinics.ts'
import { openPerson, submitSignIn } from '../support/console-browser.ts'
import type { Service } from '../support/service.ts'
import { openConsole } from './scene.ts'

const TABS = 20
const RELOADS = 50

let service: Service
let clinic: Clinic
let user: User
let base: string
let browser: Browser

beforeAll(async () => {
  if (!CHROMIUM) return
  ;({ service, clinic, base, browser } = await openConsole())
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
  // Waits for this response, because the page shows the sign-in form before the service has ended the session.
  const ended = page.waitForResponse((answer) => answer.request().method() === 'DELETE')
  await page.getByRole('button', { name: user.email }).click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await ended
}

/** Returns everything that a script of the page can read. */
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

describe.skipIf(!CHROMIUM)('a session of the console', () => {
  it('keeps its tokens where scripts cannot read them', async () => {
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

  it('can be started and ended by keyboard alone', async () => {
    const page = await (await openPerson(browser, base)).newTab()
    await page.goto('/console')
    await page.getByRole('combobox', { name: 'Clinic' }).focus()
    const { email, password, subdomain } = credentials()
    for (const text of [subdomain, email, password]) {
      await page.keyboard.press('ControlOrMeta+a')
      await page.keyboard.type(text)
      await page.keyboard.press('Tab')
    }
    await page.keyboard.press('Shift+Tab')
    await page.keyboard.press('Enter')
    // The title of the first page takes the focus when the page has loaded.
    await page.locator('h1:focus').waitFor()
    await page.getByRole('button', { name: user.email }).focus()
    for (const key of ['Enter', 'End', 'Enter']) await page.keyboard.press(key)
    await signedOut(page)
  })

  it(`survives ${TABS} tabs that open simultaneously, and ${RELOADS} quick reloads`, async () => {
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

  it('ends in every tab when the person signs out in one', async () => {
    const person = await openPerson(browser, base)
    const [page, other] = [await person.newTab(), await person.newTab()]
    await signInAt(page)
    await other.goto('/console')
    await signedIn(other)
    await signOutOf(page)
    await Promise.all([signedOut(page), signedOut(other)])
    expect(await other.content()).not.toContain(user.email)
    await other.getByText('You signed out in another tab.').waitFor()
    await expect.poll(() => person.context.cookies()).toEqual([])
  })

  it('changes to another person in every tab when that person signs in', async () => {
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

  it('starts on the requested page after sign-in, but never on another site', async () => {
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

describe.skipIf(!CHROMIUM)('the idle limit of the console', () => {
  it('shows a warning for a minute, then hides all data, even after the computer was asleep', async () => {
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
    await expect.poll(() => person.context.cookies()).toEqual([])
    await submitSignIn(page, credentials())
    await page.waitForURL('**/console/account')
    await signedIn(page)
  })
})

describe.skipIf(!CHROMIUM)('a page whose files were replaced by a new release', () => {
  it('reloads the console and then shows the requested page', async () => {
    const person = await openPerson(browser, base)
    person.expectStatus(404)
    const page = await person.newTab()
    const isAccount = (url: URL) => /^\/console\/assets\/account-[^/]+\.js$/.test(url.pathname)
    await page.route(isAccount, (route) => route.fulfill({ status: 404 }), { times: 1 })
    await page.goto('/console/account')
    const missing = page.waitForResponse((response) => response.status() === 404)
    await submitSignIn(page, credentials())
    await missing
    await page.getByRole('heading', { level: 1, name: 'My account' }).waitFor()
  })
})

describe.skipIf(!CHROMIUM)('the console, while the service refuses requests temporarily,', () => {
  it('shows a countdown after too many sign-in attempts', async () => {
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

  it('shows one banner during a restore, and signs nobody out', async () => {
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
    await page.getByText('A backup is being restored').first().waitFor()
    await page.unroute('**/api/**')
    await signedIn(page)
  })

  it('signs nobody out until the service has ended the session, and then hides all data', async () => {
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
