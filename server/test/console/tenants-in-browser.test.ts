/** The clinics of an installation in a real browser. */
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { fresh, newPerson } from '../sessions/users.ts'
import { CHROMIUM } from '../support/browser.ts'
import { PASSWORD, type Person as User } from '../support/clinics.ts'
import { inspectPage, LOOKS } from '../support/console-browser.ts'
import { pressOn } from '../support/console-keys.ts'
import { type ConsoleScene, isFocused, MALFORMED, openAs, openConsole } from './scene.ts'

const HOSTILE = `<img src=x onerror=alert(1)> \u05d0\u05d1\u05d2 =1+1 ${'W'.repeat(150)}`

let scene: ConsoleScene
let operator: User

beforeAll(async () => {
  if (!CHROMIUM) return
  scene = await openConsole()
  const { root, service } = scene
  const tenantId = root.tenant_id
  operator = await newPerson(service, root, { tenantId, subdomain: 'platform', role: 'superadmin' })
})

const ask = (method: string, path: string, body?: object) =>
  scene.service.call(method, `/api/admin/tenants${path}`, {
    token: scene.root.token,
    ...(body && { body }),
  })

async function make(name: string, subdomain = fresh('clinic')): Promise<number> {
  const { status, body } = await ask('POST', '', { name, subdomain })
  expect(status).toBe(201)
  return body.id
}

const open = (at: string, options = {}) =>
  openAs(scene, operator, { at, subdomain: 'platform', ...options })
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
const panel = (page: Page, name: string) => page.getByRole('complementary', { name })

describe.skipIf(!CHROMIUM)('a superadmin on the page of clinics', () => {
  it('adds a clinic, and finds it by its subdomain', async () => {
    const { page } = await open('/tenants')
    const subdomain = fresh('south')
    await button(page, 'Add clinic').click()
    await page.getByRole('textbox', { name: 'Name' }).fill('South Clinic')
    await page.getByRole('textbox', { name: 'Subdomain' }).fill(subdomain)
    await page.keyboard.press('Enter')
    await panel(page, 'South Clinic').getByText(subdomain).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('searchbox').fill(subdomain)
    await page.getByRole('heading', { name: /Clinics\s*1$/ }).waitFor()
    expect(await page.getByRole('row').count()).toBe(2)
    await page.getByRole('link', { name: 'South Clinic' }).click()
    await panel(page, 'South Clinic').getByRole('link', { name: 'Clinic settings' }).click()
    await page.getByRole('heading', { name: 'Clinic settings' }).waitFor()
    expect(new URL(page.url()).pathname).toMatch(/^\/console\/t\/\d+\/settings$/)
  })

  it('sees an error next to the subdomain if it is taken', async () => {
    const subdomain = fresh('taken')
    await make('Taken', subdomain)
    const { page, expectStatus } = await open('/tenants')
    expectStatus(409)
    await button(page, 'Add clinic').click()
    await page.getByRole('textbox', { name: 'Name' }).fill('Again')
    await page.getByRole('textbox', { name: 'Subdomain' }).fill(subdomain)
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: /Another clinic has this subdomain/ }).click()
    const field = page.getByRole('textbox', { name: 'Subdomain' })
    expect(await field.getAttribute('aria-invalid')).toBe('true')
  })

  it('deactivates a clinic and activates it again', async () => {
    const name = fresh('Sleepy')
    const id = await make(name)
    const { page } = await open(`/tenants?open=${id}`)
    await button(page, 'Deactivate').click()
    await page
      .getByRole('alertdialog')
      .getByText(/signed out at once/)
      .waitFor()
    await button(page, `Deactivate ${name}`).click()
    await panel(page, name).getByText('Inactive').waitFor()
    expect((await ask('GET', `/${id}`)).body.is_active).toBe(false)
    const title = panel(page, name).getByRole('heading', { level: 2 })
    await isFocused(title)
    await pressOn(page, button(page, 'Activate'))
    await panel(page, name).getByText('Active', { exact: true }).waitFor()
    expect((await ask('GET', `/${id}`)).body.is_active).toBe(true)
    await isFocused(title)
  })

  it('deletes a clinic with name and password, and restores it from the deleted ones', async () => {
    const [name, subdomain] = [fresh('Leaving'), fresh('leaving')]
    const id = await make(name, subdomain)
    const { page, expectStatus } = await open(`/tenants?search=${subdomain}&open=${id}`)
    expectStatus(403)
    await button(page, 'Delete').click()
    const dialog = page.getByRole('alertdialog', { name: `Delete ${name}` })
    await dialog.getByLabel(/Type/).fill(subdomain)
    await button(page, `Delete ${name}`).click()
    await dialog.getByLabel(/password/i).fill(PASSWORD)
    await button(page, `Delete ${name}`).click()
    await page.getByText(`Deleted ${name}.`).waitFor()
    expect((await ask('GET', `/${id}`)).status).toBe(404)
    await page.getByRole('combobox', { name: 'Status' }).selectOption('deleted')
    await page.getByRole('link', { name }).click()
    await panel(page, name)
      .getByText('in 29 d')
      .or(page.getByText(/20\d\d/))
      .first()
      .waitFor()
    await button(page, 'Restore').click()
    await button(page, `Restore ${name}`).click()
    await page.getByText(`Restored ${name}.`).waitFor()
    expect((await ask('GET', `/${id}`)).status).toBe(200)
  })

  it('moves through the pages of the list', async () => {
    const mark = fresh('page')
    for (let index = 0; index < 21; index += 1) await make(`${mark} ${index + 10}`)
    const { page } = await open(`/tenants?search=${mark}`)
    await page.getByText(/of 21/).first().waitFor()
    await button(page, 'Next').click()
    await page.getByRole('link', { name: `${mark} 30` }).waitFor()
    expect(page.url()).toContain('page=2')
    await page.reload()
    await page.getByRole('link', { name: `${mark} 30` }).waitFor()
  })

  it.each(MALFORMED)('sees a list if the address is malformed: %s', async (query) => {
    const { page } = await open(`/tenants?${query}`)
    await page.getByRole('heading', { name: /Clinics/ }).waitFor()
    await page.locator('tbody tr').or(page.getByText('Nothing found')).first().waitFor()
  })
})

describe.skipIf(!CHROMIUM).each(LOOKS)(
  'in the $theme theme at a width of $width px',
  ({ theme, width }) => {
    it('the page of clinics is accessible and fits the window, even with hostile names', async () => {
      const name = HOSTILE.slice(0, 190)
      const id = await make(name)
      const { page } = await open('/tenants', {
        colorScheme: theme,
        viewport: { width, height: 800 },
      })
      await page.getByRole('rowheader').first().waitFor()
      await inspectPage(page, `tenants-${theme}-${width}`)
      await page.goto(`/console/tenants?open=${id}`)
      await panel(page, name).waitFor()
      await inspectPage(page, `tenants-panel-${theme}-${width}`)
    })
  },
)

describe.skipIf(!CHROMIUM)('an administrator of a clinic', () => {
  it('has no page of clinics', async () => {
    const { page } = await openAs(scene, scene.clinic.people.admin, { at: '/tenants' })
    await page.getByText('Not available for your role').waitFor()
    expect(await page.getByRole('link', { name: 'Clinics' }).count()).toBe(0)
  })
})
