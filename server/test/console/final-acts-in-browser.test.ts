/** Final acts in a real browser: the dialog asks for the name, the password and the code, and repeats the act. */
import type { Locator, Page } from 'playwright-core'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { MINUTE } from '../../src/lib/clock.ts'
import { alignClock, enrol, STEP } from '../second-factor/enrol.ts'
import { newColleague, renewAdmin } from '../sessions/users.ts'
import { codeOf, forgive } from '../support/accounts.ts'
import { CHROMIUM } from '../support/browser.ts'
import type { Person as User } from '../support/clinics.ts'
import { inspectPage, LOOKS, openPerson, submitSignIn } from '../support/console-browser.ts'
import { pressOn, waitForFocus } from '../support/console-keys.ts'
import { type ConsoleScene, openAs, openConsole } from './scene.ts'

const ACT = 'Remove second factor'

let scene: ConsoleScene

beforeAll(async () => {
  if (CHROMIUM) scene = await openConsole()
})

beforeEach(async () => {
  if (!CHROMIUM) return
  await forgive(scene.service)
  await renewAdmin(scene.service, scene.clinic)
  alignClock(scene.service)
})

/** Creates a user with a second factor. */
async function enrolled(role: 'admin' | 'nurse') {
  const user = await newColleague(scene.service, scene.clinic, role)
  const { secret } = await enrol(scene.service, user.token)
  return { ...user, code: () => codeOf(scene.service, secret) }
}

const hasFactor = async ({ id }: User): Promise<boolean> => {
  const { token } = scene.clinic.people.admin
  const { body } = await scene.service.call('GET', `/api/admin/users/${id}`, { token })
  return body.totp_enabled
}

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })

/** Opens the dialog of the act with the keyboard. */
async function openDialog(page: Page, user: User): Promise<Locator> {
  await pressOn(page, button(page, `More for ${user.email}`))
  const item = page.getByRole('menuitem', { name: ACT })
  await item.waitFor()
  const isChosen = () => item.evaluate((element) => element.matches(':focus'))
  while (!(await isChosen())) await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  const dialog = page.getByRole('alertdialog', { name: ACT })
  await dialog.waitFor()
  return dialog
}

/** Types into the field that has the focus, and sends the form. */
async function enter(page: Page, field: Locator, text: string): Promise<void> {
  await waitForFocus(page, field)
  await page.keyboard.type(text)
  await page.keyboard.press('Enter')
}

const done = (page: Page, { email }: User) =>
  page.getByRole('status').getByText(`Removed the second factor of ${email}.`)

/** Everything that the page keeps: its text, the values of its fields, its URL and its storage. */
const KEPT = `JSON.stringify([
  document.documentElement.outerHTML,
  [...document.querySelectorAll('input')].map((input) => input.value),
  location.href, { ...localStorage }, { ...sessionStorage }, history.state,
])`

describe.skipIf(!CHROMIUM).each(LOOKS)('in the $theme theme at $width px', ({ theme, width }) => {
  it('an administrator removes a second factor by keyboard with name, password and code', async () => {
    const [admin, user] = [await enrolled('admin'), await enrolled('nurse')]
    const looks = { colorScheme: theme, viewport: { width, height: 800 } }
    const { newTab, expectStatus } = await openPerson(scene.browser, scene.base, looks)
    expectStatus(401, 403)
    const page = await newTab()
    await page.goto(`/console/users?open=${user.id}`)
    await submitSignIn(page, { ...admin, subdomain: scene.clinic.subdomain })
    await page.getByLabel('Code from your authenticator app').fill(admin.code())
    await page.keyboard.press('Enter')
    await page.getByRole('complementary', { name: user.email }).waitFor()
    scene.service.clock.advance(STEP)

    const dialog = await openDialog(page, user)
    await enter(page, dialog.getByLabel(`Type ${user.email} to confirm`), user.email)
    const password = dialog.getByLabel('Your password')
    await waitForFocus(page, password)
    await inspectPage(page, `final-act-password-${theme}-${width}`)
    await enter(page, password, 'wrong-Horse-1')
    await dialog.getByText('The current password is wrong.').waitFor()
    expect(await password.inputValue()).toBe('')
    await password.focus()
    await enter(page, password, admin.password)
    const code = dialog.getByLabel('Code of your second factor')
    await waitForFocus(page, code)
    await inspectPage(page, `final-act-code-${theme}-${width}`)
    expect(await hasFactor(user)).toBe(true)
    await enter(page, code, admin.code())
    await done(page, user).waitFor()
    expect(await hasFactor(user)).toBe(false)
    await dialog.waitFor({ state: 'detached' })
    expect(await page.evaluate(KEPT)).not.toContain(admin.password)
  })
})

describe.skipIf(!CHROMIUM)('an administrator who has confirmed the session', () => {
  it('is asked for the password again only after five minutes', async () => {
    const { admin } = scene.clinic.people
    const { page, expectStatus } = await openAs(scene, admin, { at: '/users' })
    expectStatus(401, 403)
    const statuses: number[] = []
    page.on('response', (response) => statuses.push(response.status()))
    const remove = async (isAsked: boolean) => {
      const user = await enrolled('nurse')
      await page.goto(`/console/users?open=${user.id}`)
      const dialog = await openDialog(page, user)
      await enter(page, dialog.getByLabel(/^Type/), user.email)
      if (isAsked) await enter(page, dialog.getByLabel('Your password'), admin.password)
      await done(page, user).waitFor()
    }
    await remove(true)
    await remove(false)
    // The page asks before it sends an act that the service would refuse, and record in the audit log.
    expect(statuses).not.toContain(403)
    scene.service.clock.advance(5 * MINUTE)
    await renewAdmin(scene.service, scene.clinic)
    await remove(true)
  })
})
