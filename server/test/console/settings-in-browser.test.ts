/** The settings of a clinic in a real browser. */
import type { Page } from 'playwright-core'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { renewAdmin } from '../sessions/users.ts'
import { CHROMIUM } from '../support/browser.ts'
import { inspectPage, LOOKS } from '../support/console-browser.ts'
import { type ConsoleScene, isFocused, MALFORMED, openAs, openConsole } from './scene.ts'

let scene: ConsoleScene

beforeAll(async () => {
  if (CHROMIUM) scene = await openConsole()
})

beforeEach(async () => {
  if (!CHROMIUM) return
  await scene.service.call('PUT', `/api/admin/tenants/${scene.clinic.id}`, {
    token: scene.root.token,
    body: { name: 'Clinic north', settings: {} },
  })
  await renewAdmin(scene.service, scene.clinic)
})

const change = (settings: object) =>
  scene.service.call('PUT', `/api/admin/tenants/${scene.clinic.id}`, {
    token: scene.root.token,
    body: { settings },
  })

async function saved() {
  const { body } = await scene.service.call('GET', `/api/admin/tenants/${scene.clinic.id}`, {
    token: scene.root.token,
  })
  return body
}

const openSettings = () => openAs(scene, scene.clinic.people.admin, { at: '/settings' })
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
const nameField = (page: Page) => page.getByRole('textbox', { name: 'Name' })

describe.skipIf(!CHROMIUM)('an administrator on the settings page', () => {
  it('saves only the changed settings, and keeps changes that other admins save at the same time', async () => {
    await change({ colour: 'teal', idle_minutes: 20 })
    const { page } = await openSettings()
    await nameField(page).fill('Clinic of the North')
    await page.getByLabel('Who may register').selectOption('closed')
    await page.getByLabel(/^Show the clinic/).uncheck()
    await page.getByText('colour').waitFor()
    await page.getByLabel(/^Days until entries/).fill('400')
    await change({ colour: 'teal', idle_minutes: 25, floors: 3 })
    await button(page, 'Save settings').click()
    const question = page.getByRole('alertdialog', { name: 'Shorten the audit log' })
    await question.getByText('entries older than 400 days are archived and removed').waitFor()
    await question.getByRole('button', { name: 'Cancel' }).click()
    await question.waitFor({ state: 'detached' })
    expect((await saved()).name).toBe('Clinic north')
    await button(page, 'Save settings').click()
    await question.getByRole('button', { name: 'Shorten the audit log' }).click()
    await page.getByText('Settings saved.').waitFor()
    expect(await saved()).toMatchObject({
      name: 'Clinic of the North',
      settings: {
        colour: 'teal',
        floors: 3,
        idle_minutes: 25,
        registration: 'closed',
        listed: false,
        audit_retention_days: 400,
      },
    })
    await page.getByLabel(/^Days until entries/).fill('')
    await button(page, 'Discard changes').waitFor()
    await button(page, 'Save settings').click()
    // The message of the first save may still be there, so the end of the second one shows in the form.
    await button(page, 'Discard changes').waitFor({ state: 'detached' })
    expect((await saved()).settings).toMatchObject({ audit_retention_days: null })
    await page.locator('header').getByText('Clinic of the North').waitFor()
  })

  it('sees after saving which settings other admins changed, and does not overwrite them', async () => {
    const { page } = await openSettings()
    await nameField(page).fill('Clinic one')
    await change({ registration: 'open', listed: false })
    await button(page, 'Save settings').click()
    await expect.poll(() => page.getByLabel('Who may register').inputValue()).toBe('open')
    expect(await page.getByLabel(/^Show the clinic/).isChecked()).toBe(false)
    await isFocused(button(page, 'Save settings'))
    await nameField(page).fill('Clinic two')
    await button(page, 'Save settings').click()
    await expect.poll(async () => (await saved()).name).toBe('Clinic two')
    expect((await saved()).settings).toEqual({ registration: 'open', listed: false })
  })

  it('sees how many people a required second factor affects, and confirms the change', async () => {
    const { page } = await openSettings()
    await page.getByRole('checkbox', { name: 'Doctor' }).check()
    await page.getByText('1 doctor has none yet.').waitFor()
    await page.getByRole('checkbox', { name: 'Nurse' }).check()
    await page.getByText('1 nurse has none yet.').waitFor()
    await button(page, 'Save settings').click()
    const question = page.getByRole('alertdialog', { name: 'Require a second factor' })
    await question.getByText('2 people have no second factor yet: 1 doctor, 1 nurse.').waitFor()
    await isFocused(question.getByRole('button', { name: 'Cancel' }))
    await page.keyboard.press('Escape')
    await question.waitFor({ state: 'detached' })
    expect((await saved()).settings).toEqual({})
    await button(page, 'Save settings').click()
    await question.getByRole('button', { name: 'Require a second factor' }).click()
    await page.getByText('Settings saved.').waitFor()
    expect((await saved()).settings).toEqual({ require_totp: ['doctor', 'nurse'] })
  })

  it('has to set up the second factor if their own role now requires it', async () => {
    const { page } = await openSettings()
    await page.getByRole('checkbox', { name: 'Administrator' }).check()
    await button(page, 'Save settings').click()
    const question = page.getByRole('alertdialog')
    await question.getByText('This includes your own role.').waitFor()
    await question.getByRole('button', { name: 'Require a second factor' }).click()
    await page.getByRole('heading', { name: 'Set up your second factor' }).waitFor()
  })

  it('sees each error next to its field', async () => {
    const { page } = await openSettings()
    await page.getByLabel(/^Minutes until/).fill('61')
    await page.getByLabel(/^Days until entries/).fill('36501')
    await nameField(page).fill('')
    await page.keyboard.press('Enter')
    const faults = page.getByRole('alert').getByRole('link')
    await faults.first().waitFor()
    expect(await faults.allInnerTexts()).toEqual([
      'Enter a name.',
      'Enter a whole number from 2 to 60.',
      'Enter a whole number from 90 to 36,500.',
    ])
    expect((await saved()).name).toBe('Clinic north')
  })

  it('has to confirm before leaving with unsaved changes', async () => {
    const { page } = await openSettings()
    await nameField(page).fill('Half')
    await page.getByRole('link', { name: 'Departments' }).click()
    const question = page.getByRole('alertdialog', { name: 'Leave without saving' })
    await question.getByRole('button', { name: 'Stay' }).click()
    await question.waitFor({ state: 'detached' })
    expect(await nameField(page).inputValue()).toBe('Half')
    await button(page, 'Discard changes').click()
    await isFocused(page.getByRole('heading', { level: 1 }))
    expect(await nameField(page).inputValue()).toBe('Clinic north')
    await page.getByRole('link', { name: 'Departments' }).click()
    await page.getByRole('heading', { level: 1, name: 'Departments' }).waitFor()
    await page.getByRole('link', { name: 'Clinic settings' }).click()
    await nameField(page).fill('Half')
    await page.goBack()
    await question.getByRole('button', { name: 'Leave without saving' }).click()
    await page.getByRole('heading', { level: 1, name: 'Departments' }).waitFor()
    expect((await saved()).name).toBe('Clinic north')
  })
})

describe.skipIf(!CHROMIUM)('the settings page, for other roles,', () => {
  it('shows an auditor the settings as text', async () => {
    await change({ require_totp: ['admin'], idle_minutes: 7, listed: false })
    const { page } = await openAs(scene, scene.clinic.people.auditor, { at: '/settings' })
    await page.getByText('7 minutes without activity').waitFor()
    await page.getByText('Hidden: people type its address').waitFor()
    await page.getByText('Every entry is kept').waitFor()
    expect(await page.locator('main').getByRole('button').count()).toBe(0)
    expect(await page.locator('main').locator('input, select').count()).toBe(0)
  })

  it('lets a superadmin change the clinic named in the URL, and ignores malformed URL parameters', async () => {
    const { page } = await openAs(scene, scene.root, {
      at: `/t/${scene.clinic.id}/settings`,
      subdomain: 'platform',
    })
    for (const parameters of MALFORMED) {
      await page.goto(`/console/t/${scene.clinic.id}/settings?${parameters}`)
      await nameField(page).waitFor()
    }
    await page.getByLabel(/^Minutes until/).fill('30')
    await page.keyboard.press('Enter')
    await page.getByText('Settings saved.').waitFor()
    expect((await saved()).settings).toEqual({ idle_minutes: 30 })
  })
})

describe.skipIf(!CHROMIUM).each(LOOKS)(
  'in the $theme theme at a width of $width px',
  ({ theme, width }) => {
    it('the settings page is accessible and fits the window', async () => {
      await change({ [`custom_${'x'.repeat(150)}`]: 1 })
      const { page } = await openAs(scene, scene.clinic.people.admin, {
        at: '/settings',
        colorScheme: theme,
        viewport: { width, height: 800 },
      })
      await page.getByRole('checkbox', { name: 'Doctor' }).check()
      await page.getByText('1 doctor has none yet.').waitFor()
      await inspectPage(page, `settings-${theme}-${width}`)
      await button(page, 'Save settings').click()
      await page.getByRole('alertdialog').waitFor()
      await inspectPage(page, `settings-require-${theme}-${width}`)
    })
  },
)
