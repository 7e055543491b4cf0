/** The page "My account" in a real browser. */
import type { Page } from 'playwright-core'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { openScene, type Scene } from '../messenger/scene.ts'
import { newColleague, renewAdmin } from '../sessions/users.ts'
import { codeOf, forgive } from '../support/accounts.ts'
import { CHROMIUM } from '../support/browser.ts'
import { builtConsole } from '../support/built-console.ts'
import { signIn, type Person as User } from '../support/clinics.ts'
import { inspectPage, LOOKS, submitSignIn } from '../support/console-browser.ts'
import { browse, type ConsoleScene, isFocused, openAs } from './scene.ts'

const NEW_PASSWORD = 'chosen-Horse-61'

let messenger: Scene
let scene: ConsoleScene
let user: User

beforeAll(async () => {
  if (!CHROMIUM) return
  messenger = await openScene({ consoleFolder: await builtConsole() })
  scene = await browse(messenger.service, messenger.root, messenger.clinic)
})

beforeEach(async () => {
  if (!CHROMIUM) return
  await renewAdmin(scene.service, scene.clinic)
  await forgive(scene.service)
  user = await newColleague(scene.service, scene.clinic, 'nurse')
})

const credentials = (password = user.password) => ({
  email: user.email,
  password,
  subdomain: scene.clinic.subdomain,
})
const openAccount = () => openAs(scene, user, { at: '/account' })
const openMessenger = (page: Page) =>
  page.getByRole('heading', { name: 'Messages to your chat' }).click()
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
const ask = (path: string) => scene.service.call('GET', path, { token: user.token })

describe.skipIf(!CHROMIUM)('a person on the account page', () => {
  it('changes the password, stays signed in, and is signed out on other devices', async () => {
    const { page, expectStatus } = await openAccount()
    expectStatus(403)
    await button(page, 'Change password').click()
    await page.getByLabel('Current password').fill('wrong-Horse-1')
    await page.getByLabel('New password', { exact: true }).fill(NEW_PASSWORD)
    await page.keyboard.press('Enter')
    await page.getByRole('alert').getByText('This is not your current password.').waitFor()
    await page.getByLabel('Current password').fill(user.password)
    await page.keyboard.press('Enter')
    await page.getByText('Password changed. Your other devices are signed out.').waitFor()
    expect((await ask('/api/users/me')).status).toBe(401)
    await page.reload()
    await page.getByText(user.email).first().waitFor()
    expect((await signIn(scene.service, credentials(NEW_PASSWORD))).user_id).toBe(user.id)
  })

  it('enables the second factor, has to save the recovery codes, and disables the factor again', async () => {
    const { page, expectStatus } = await openAccount()
    await button(page, 'Set up second factor').click()
    await page.getByRole('textbox', { name: 'Password', exact: true }).fill(user.password)
    await page.keyboard.press('Enter')
    await page.getByRole('img', { name: 'QR code' }).waitFor()
    const secret = (await page.locator('code').first().innerText()).replaceAll(/\s/g, '')
    await page.getByLabel('Code', { exact: true }).fill(codeOf(scene.service, secret))
    await page.keyboard.press('Enter')
    const codes = page.getByRole('region', { name: 'Recovery codes' })
    const [recoveryCode = ''] = (await codes.locator('pre').innerText()).split('\n')
    await page.getByRole('link', { name: 'Wardkeep, home' }).click()
    const question = page.getByRole('alertdialog', { name: 'Leave without keeping it' })
    await question.getByRole('button', { name: 'Stay' }).click()
    await question.waitFor({ state: 'detached' })
    expect(await button(page, 'Done').isDisabled()).toBe(true)
    await page.getByLabel('I have kept it in a safe place').check()
    await button(page, 'Done').click()
    await page.getByText('Second factor turned on. Your other devices are signed out.').waitFor()
    expect(await page.content()).not.toContain(recoveryCode)
    await button(page, 'Remove second factor').click()
    await page.getByRole('alertdialog').getByLabel('Password', { exact: true }).fill(user.password)
    await page.keyboard.press('Enter')
    await button(page, 'Sign in').waitFor()
    expectStatus(401)
    await submitSignIn(page, credentials())
    await button(page, 'Set up second factor').waitFor()
  })

  it('sees the current session, and ends another one', async () => {
    const { page } = await openAccount()
    const sessions = page.getByRole('table', { name: 'Sessions' })
    await sessions.getByText('This session').waitFor()
    const others = sessions.getByRole('button', { name: /^End the session of/ })
    expect(await others.count()).toBe(1)
    await others.click()
    const question = page.getByRole('alertdialog', { name: 'End session' })
    await question.getByRole('button', { name: 'End session' }).click()
    await page.getByText('Session ended.').waitFor()
    await isFocused(page.getByRole('heading', { level: 1 }))
    await others.waitFor({ state: 'detached' })
    expect((await ask('/api/users/me')).status).toBe(401)
  })

  it('stores the theme and row height in the account, and keeps them after a reload', async () => {
    const { page } = await openAccount()
    const theme = page.waitForResponse('**/api/preferences/theme')
    await page.getByLabel('Dark', { exact: true }).check()
    await theme
    const density = page.waitForResponse('**/api/preferences')
    await page.getByLabel('Comfortable').check()
    await density
    await page.reload()
    await page.getByText(user.email).first().waitFor()
    const root = page.locator('html')
    expect(await root.getAttribute('data-theme')).toBe('dark')
    expect(await root.getAttribute('data-density')).toBe('comfortable')
    expect(await page.getByLabel('Comfortable').isChecked()).toBe(true)
    await expect
      .poll(async () => (await ask('/api/preferences')).body)
      .toMatchObject({ theme: 'dark', settings: { density: 'comfortable' } })
  })

  it('sees why the linked chat could not be loaded, and retries', async () => {
    const { page, expectStatus } = await openAccount()
    expectStatus(500)
    await page.route('**/api/messenger/status', (route) => route.fulfill({ status: 500, json: {} }))
    await openMessenger(page)
    await page.getByText('This could not be loaded').waitFor()
    await page.unroute('**/api/messenger/status')
    await button(page, 'Try again').click()
    await page.getByLabel('Code from the chat').waitFor()
  })

  it('links a chat with the code from the bot, and unlinks the chat', async () => {
    const { page, expectStatus } = await openAccount()
    expectStatus(400)
    await openMessenger(page)
    await page.getByText('@wardkeep_bot').waitFor()
    const code = page.getByLabel('Code from the chat')
    await code.fill('ABCD-2345')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').getByText('This code is not valid.').waitFor()
    await code.fill(await messenger.codeOf(4101, { id: 4101, username: 'nora_n' }))
    await page.keyboard.press('Enter')
    await page.getByText('Chat linked.').waitFor()
    await page.getByText('10 kinds of events').waitFor()
    expect((await ask('/api/messenger/status')).body.linked).toBe(true)
    await button(page, 'Unlink chat').click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Unlink chat' }).click()
    await page.getByText('Chat unlinked.').waitFor()
    await isFocused(page.getByRole('heading', { level: 1 }))
    expect((await ask('/api/messenger/status')).body.linked).toBe(false)
  })
})

describe.skipIf(!CHROMIUM).each(LOOKS)(
  'in the $theme theme at a width of $width px',
  ({ theme, width }) => {
    it('the account page is accessible and fits the window', async () => {
      const { page } = await openAs(scene, user, {
        at: '/account',
        colorScheme: theme,
        viewport: { width, height: 800 },
      })
      await page.getByText('This session').waitFor()
      await inspectPage(page, `account-closed-${theme}-${width}`)
      await openMessenger(page)
      await page.getByLabel('Code from the chat').waitFor()
      await inspectPage(page, `account-${theme}-${width}`)
      await button(page, 'Change password').click()
      await button(page, 'Set up second factor').click()
      await page.getByRole('textbox', { name: 'Password', exact: true }).waitFor()
      await inspectPage(page, `account-forms-${theme}-${width}`)
    })
  },
)
