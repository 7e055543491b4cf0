/** The patient cache of a node in a real browser. */
import type { Page } from 'playwright-core'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { renewAdmin } from '../sessions/users.ts'
import { CHROMIUM } from '../support/browser.ts'
import type { Person as User } from '../support/clinics.ts'
import { dataShown, inspectPage, LOOKS } from '../support/console-browser.ts'
import { pressOn, waitForFocus } from '../support/console-keys.ts'
import { type ConsoleScene, isFocused, MALFORMED, openAs, openConsole } from './scene.ts'

let scene: ConsoleScene
let admin: User

beforeAll(async () => {
  if (CHROMIUM) scene = await openConsole()
})

beforeEach(async () => {
  if (!CHROMIUM) return
  await renewAdmin(scene.service, scene.clinic)
  admin = scene.clinic.people.admin
})

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
const cached = async () => {
  const path = '/api/admin/cache/stats'
  return (await scene.service.call('GET', path, { token: admin.token })).body.entries
}

async function newPatient(): Promise<number> {
  const body = { full_name: 'Paula Patient', department_id: null }
  return (await scene.service.call('POST', '/api/patients', { token: admin.token, body })).body.id
}

describe.skipIf(!CHROMIUM)('an administrator on the page of the patient cache', () => {
  it('loads patients, drops one and then all, by keyboard, and sees the figures of the named node', async () => {
    const [first, second] = [await newPatient(), await newPatient()]
    const { page } = await openAs(scene, admin, { at: '/cache' })
    await dataShown(page)
    await page
      .locator('code')
      .getByText(new RegExp(`/${process.pid}$`))
      .waitFor()
    await pressOn(page, button(page, 'Drop all'))
    const question = page.getByRole('alertdialog', { name: 'Drop all cached patients' })
    await isFocused(question.getByRole('button', { name: 'Cancel' }))
    await pressOn(page, question.getByRole('button', { name: 'Drop all cached patients' }))
    await page.getByText(/^Removed \d+ patients? on /).waitFor()
    await expect.poll(cached).toBe(0)

    await pressOn(page, button(page, 'Warm up'))
    await waitForFocus(page, page.getByLabel('Ids of patients'))
    await page.keyboard.type('one, two')
    await page.keyboard.press('Enter')
    await page.locator('input[name=patient_ids][aria-invalid=true]').waitFor()
    await page.getByLabel('Ids of patients').fill(`${first}, ${second} 999999`)
    await page.keyboard.press('Enter')
    await page
      .getByText('2 of 3 patients are cached now. Unknown in this clinic: 999999.')
      .waitFor()
    expect(await cached()).toBe(2)
    await page
      .getByRole('region', { name: 'Figures of one node' })
      .getByText('2', { exact: true })
      .waitFor()

    await pressOn(page, button(page, 'Drop one'))
    await waitForFocus(page, page.getByLabel('Id of the patient'))
    await page.keyboard.type(String(first))
    await page.keyboard.press('Enter')
    await page.getByText(/^Removed 1 patient on /).waitFor()
    await expect.poll(cached).toBe(1)
    await pressOn(page, button(page, 'Clean up'))
    await page
      .getByText(/^Removed 0 patients on /)
      .last()
      .waitFor()
  })

  it('can use URLs with malformed parameters', async () => {
    const { page } = await openAs(scene, admin, { at: '/cache' })
    for (const parameters of MALFORMED) {
      await page.goto(`/console/cache?${parameters}`)
      await button(page, 'Clean up').waitFor()
    }
  })
})

describe.skipIf(!CHROMIUM)('the page of the patient cache', () => {
  it('offers a superadmin no act that loads patients, and is not available to auditors', async () => {
    const at = `/t/${scene.clinic.id}/cache`
    const { page } = await openAs(scene, scene.root, { at, subdomain: 'platform' })
    await page.getByText('The patients of all clinics on the node that answered.').waitFor()
    expect(await button(page, 'Warm up').count()).toBe(0)
    const other = await openAs(scene, scene.clinic.people.auditor, { at: '/cache' })
    await other.page.getByText('Not available for your role').waitFor()
  })
})

describe.skipIf(!CHROMIUM).each(LOOKS)(
  'in the $theme theme at a width of $width px',
  ({ theme, width }) => {
    it('the page of the patient cache is accessible and fits the window, even with a long name of a node', async () => {
      const { page } = await openAs(scene, admin, {
        at: '/account',
        colorScheme: theme,
        viewport: { width, height: 900 },
      })
      await page.route('**/api/admin/cache/stats', async (route) => {
        const body = await (await route.fetch()).json()
        await route.fulfill({ json: { ...body, node: `<img src=x> ${'W'.repeat(150)}/1` } })
      })
      await page.goto('/console/cache')
      await dataShown(page)
      await inspectPage(page, `cache-${theme}-${width}`)
      await button(page, 'Warm up').click()
      await page.getByRole('dialog').waitFor()
      await inspectPage(page, `cache-dialog-${theme}-${width}`)
    })
  },
)
