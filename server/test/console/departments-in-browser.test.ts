/** The departments of a clinic in a real browser. */
import type { Page } from 'playwright-core'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { MINUTE } from '../../src/lib/clock.ts'
import { fresh, newColleague, renewAdmin } from '../sessions/users.ts'
import { CHROMIUM } from '../support/browser.ts'
import type { Person as User } from '../support/clinics.ts'
import { inspectPage, LOOKS } from '../support/console-browser.ts'
import {
  type ConsoleScene,
  isFocused,
  MALFORMED,
  openAs,
  openConsole,
  signInAgain,
} from './scene.ts'

const HOSTILE = `<img src=x onerror=alert(1)> \u05d0\u05d1\u05d2 =1+1 ${'W'.repeat(150)}`

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

const ask = (method: string, path: string, body?: object) =>
  scene.service.call(method, `/api/admin/departments${path}`, {
    token: admin.token,
    ...(body && { body }),
  })

async function make(name: string): Promise<number> {
  const { status, body } = await ask('POST', '', { name })
  expect(status).toBe(201)
  return body.id
}

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
const panel = (page: Page, name: string) => page.getByRole('complementary', { name })

describe.skipIf(!CHROMIUM)('an administrator of departments', () => {
  it('adds a department with a head, and then sees the panel of the department', async () => {
    const { page } = await openAs(scene, admin, { at: '/departments' })
    const name = fresh('Oncology')
    const { doctor } = scene.clinic.people
    await button(page, 'Add department').click()
    await page.getByRole('textbox', { name: 'Name' }).fill(name)
    const head = page.getByRole('combobox', { name: 'Head doctor' })
    await head.click()
    await page.getByRole('option', { name: doctor.email }).waitFor()
    await head.fill('zzz')
    // A result of an earlier search cannot be chosen.
    await page.keyboard.press('Enter')
    await page.getByRole('option', { name: 'Nothing found' }).waitFor()
    expect(await page.locator('input[name=head_doctor_id]').inputValue()).toBe('')
    await head.fill(doctor.email)
    await page.getByRole('option', { name: doctor.email }).waitFor()
    await page.keyboard.press('Enter')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await panel(page, name).getByRole('link', { name: 'doctor of north' }).waitFor()
    const { body } = await ask('GET', '?limit=100')
    expect(body.items).toContainEqual(
      expect.objectContaining({ name, head_doctor_id: doctor.id, members: 0 }),
    )
  })

  it('renames a department, changes its head, and undoes both', async () => {
    const name = fresh('Radiology')
    const id = await make(name)
    const { page } = await openAs(scene, admin, { at: `/departments?open=${id}` })
    await button(page, 'Rename').click()
    await page.getByRole('textbox', { name: 'Name' }).fill(`${name} and imaging`)
    await button(page, 'Rename department').click()
    await panel(page, `${name} and imaging`).waitFor()
    expect((await ask('GET', `/${id}`)).body.name).toBe(`${name} and imaging`)
    await button(page, 'Undo').click()
    await page.getByText(`Named ${name} again.`).waitFor()
    expect((await ask('GET', `/${id}`)).body.name).toBe(name)
    await button(page, 'Change head').click()
    await page.getByRole('combobox', { name: 'Head doctor' }).click()
    await page.getByRole('option', { name: /doctor of north/ }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Change head' }).click()
    await page.getByText(`doctor of north heads ${name}.`).waitFor()
    expect((await ask('GET', `/${id}`)).body.head_doctor_id).toBe(scene.clinic.people.doctor.id)
    await button(page, 'Undo').click()
    await page.getByText('The former head is back.').waitFor()
    expect((await ask('GET', `/${id}`)).body.head_doctor_id).toBeNull()
  })

  it('sees an error next to the name field if the name is taken', async () => {
    const name = fresh('Surgery')
    await make(name)
    const { page, expectStatus } = await openAs(scene, admin, { at: '/departments' })
    expectStatus(409)
    await button(page, 'Add department').click()
    await page.getByRole('textbox', { name: 'Name' }).fill(` ${name.toUpperCase()} `)
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: /Another department has this name/ }).click()
    const field = page.getByRole('textbox', { name: 'Name' })
    expect(await field.getAttribute('aria-invalid')).toBe('true')
  })

  it('has to confirm before a dialog with unsaved text is closed', async () => {
    const { page } = await openAs(scene, admin, { at: '/departments' })
    const dialog = page.getByRole('dialog', { name: 'Add department' })
    await button(page, 'Add department').click()
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await button(page, 'Add department').click()
    const field = page.getByRole('textbox', { name: 'Name' })
    await field.fill('Half')
    const question = page.getByRole('alertdialog', { name: 'Discard what you typed' })
    // Presses Escape twice: browsers close a dialog at the second Escape unless the page prevents that.
    for (const way of ['Escape', 'Escape']) {
      await page.keyboard.press(way)
      await question.getByRole('button', { name: 'Keep editing' }).click()
      await question.waitFor({ state: 'detached' })
    }
    expect(await field.inputValue()).toBe('Half')
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await question.getByRole('button', { name: 'Discard what you typed' }).click()
    await dialog.waitFor({ state: 'detached' })
    await isFocused(button(page, 'Add department'))
  })

  it('cannot close a dialog while its form is being sent', async () => {
    const { page } = await openAs(scene, admin, { at: '/departments' })
    const held = Promise.withResolvers<void>()
    await page.route('**/api/admin/departments', async (route) => {
      await held.promise
      await route.continue()
    })
    const name = fresh('Held')
    await button(page, 'Add department').click()
    await page.getByRole('textbox', { name: 'Name' }).fill(name)
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Adding…' }).waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click({ force: true })
    expect(await page.getByRole('dialog').isVisible()).toBe(true)
    held.resolve()
    await panel(page, name).waitFor()
  })

  it('deletes a department after typing its name, and sees what happens to its members', async () => {
    const name = fresh('Oncology')
    const id = await make(name)
    const member = await newColleague(scene.service, scene.clinic, 'nurse')
    await scene.service.call('PUT', `/api/admin/users/${member.id}`, {
      token: admin.token,
      body: { department_id: id },
    })
    const { page, expectStatus } = await openAs(scene, admin, { at: `/departments?open=${id}` })
    const members = panel(page, name).getByRole('link', { name: `1 member of ${name}` })
    expect(await members.getAttribute('href')).toBe(`/console/users?department=${id}`)
    await button(page, 'Delete').click()
    const question = page.getByRole('alertdialog', { name: `Delete ${name}` })
    await question.getByText('Its 1 member stays').waitFor()
    await question.getByRole('button', { name: `Delete ${name}` }).click()
    await question.getByText('This does not match.').waitFor()
    expect((await ask('GET', `/${id}`)).status).toBe(200)
    expectStatus(429)
    await page.route(`**/api/admin/departments/${id}`, (route) =>
      route.fulfill({ status: 429, headers: { 'retry-after': '40' }, json: { detail: 'slow' } }),
    )
    await question.getByLabel(`Type ${name} to confirm`).fill(name)
    await page.keyboard.press('Enter')
    await question.getByText(/^Too many attempts\. Try again in \d\d seconds\./).waitFor()
    await page.unroute(`**/api/admin/departments/${id}`)
    await question.getByLabel(`Type ${name} to confirm`).press('Enter')
    await page.getByText(`Deleted ${name}.`).waitFor()
    await isFocused(page.getByRole('heading', { level: 1 }))
    expect((await ask('GET', `/${id}`)).status).toBe(404)
    await page.getByRole('link', { name, exact: true }).waitFor({ state: 'detached' })
    expect(new URL(page.url()).search).toBe('')
  })
})

describe.skipIf(!CHROMIUM)('the list of departments', () => {
  it('keeps search, order and the open department in its URL, and loads with two requests', async () => {
    const word = fresh('Ward')
    const [first, second] = [await make(`${word} A`), await make(`${word} B`)]
    const { page } = await openAs(scene, admin, { at: '/departments' })
    await page.getByLabel('Name of a department').fill(word)
    await page.getByText('1–2 of 2').waitFor()
    await button(page, 'Name').click()
    await page.getByRole('link', { name: `${word} A`, exact: true }).click()
    await panel(page, `${word} A`).waitFor()
    const { search } = new URL(page.url())
    expect(Object.fromEntries(new URLSearchParams(search))).toEqual({
      search: word,
      sort: '-name',
      open: String(first),
    })
    const asked: string[] = []
    page.on('request', (request) => {
      const isOfShell = /\/tenants|\/overview/.test(request.url())
      if (request.url().includes('/api/admin/') && !isOfShell) asked.push(request.url())
    })
    await page.reload()
    await panel(page, `${word} A`).waitFor()
    const rows = page.getByRole('rowheader')
    expect(await rows.allInnerTexts()).toEqual([`${word} B`, `${word} A`])
    expect(asked).toHaveLength(2)
    await page.goBack()
    await panel(page, `${word} A`).waitFor({ state: 'detached' })
    await page.goto(`/console/departments?open=${second}`)
    await panel(page, `${word} B`).waitFor()
    await page.keyboard.press('Escape')
    await panel(page, `${word} B`).waitFor({ state: 'detached' })
  })

  it('shows the first page if the page in the URL is beyond the last one', async () => {
    const word = fresh('Short')
    await make(word)
    const { page } = await openAs(scene, admin, { at: `/departments?search=${word}&page=5` })
    await page.getByRole('heading', { name: 'Nothing on this page' }).waitFor()
    await button(page, 'Show the first page').click()
    await page.getByRole('link', { name: word, exact: true }).waitFor()
  })

  it('ignores malformed URL parameters', async () => {
    const { page, expectStatus } = await openAs(scene, admin, { at: '/departments' })
    // One parameter names a department that does not exist.
    expectStatus(404)
    for (const parameters of MALFORMED) {
      await page.goto(`/console/departments?${parameters}`)
      await page.getByRole('table', { name: /^Departments/ }).waitFor()
    }
  })

  it('says that a department of another clinic does not exist', async () => {
    const elsewhere = await scene.service.call('POST', '/api/admin/tenants', {
      token: scene.root.token,
      body: { name: 'South', subdomain: fresh('south') },
    })
    const { body } = await scene.service.call('POST', '/api/admin/departments', {
      token: scene.root.token,
      body: { name: 'Foreign', tenant_id: elsewhere.body.id },
    })
    const { page, expectStatus } = await openAs(scene, admin, {
      at: `/departments?open=${body.id}`,
    })
    expectStatus(404)
    await panel(page, 'Department not found').waitFor()
    const root = await openAs(scene, scene.root, {
      at: `/t/${scene.clinic.id}/departments?open=${body.id}`,
      subdomain: 'platform',
    })
    await panel(root.page, 'Department not found').waitFor()
    expect(await root.page.content()).not.toContain('Foreign')
  })
})

describe.skipIf(!CHROMIUM)('an auditor on the page of departments', () => {
  it('can read a department, and sees no actions', async () => {
    const id = await make(fresh('Read'))
    const { auditor } = scene.clinic.people
    const { page } = await openAs(scene, auditor, { at: `/departments?open=${id}` })
    await page.getByRole('complementary').getByText('No head doctor').waitFor()
    for (const act of ['Add department', 'Rename', 'Change head', 'Delete'])
      expect(await button(page, act).count()).toBe(0)
  })
})

describe.skipIf(!CHROMIUM)('text that a person typed before the idle limit signed them out', () => {
  async function typeAndWait(page: Page, name: string): Promise<void> {
    await button(page, 'Add department').click()
    await page.getByRole('textbox', { name: 'Name' }).fill(name)
    await page.getByRole('combobox', { name: 'Head doctor' }).click()
    await page.clock.fastForward(300)
    await page.getByRole('option', { name: /doctor of north/ }).click()
    await page.clock.fastForward(20 * MINUTE)
    await button(page, 'Sign in').waitFor()
    expect(await page.content()).not.toContain(name)
  }

  it('is offered to the same person after the next sign-in', async () => {
    const { page } = await openAs(scene, admin, { at: '/departments' })
    await page.clock.install()
    await page.reload()
    await typeAndWait(page, 'Half a name')
    await signInAgain(page, admin, scene.clinic.subdomain)
    await button(page, 'Add department').click()
    await button(page, 'Restore it').click()
    expect(await page.getByRole('textbox', { name: 'Name' }).inputValue()).toBe('Half a name')
    const head = page.getByRole('combobox', { name: 'Head doctor' })
    expect(await head.inputValue()).toContain('doctor of north')
    expect(await page.locator('input[name=head_doctor_id]').inputValue()).toBe(
      String(scene.clinic.people.doctor.id),
    )
  })

  it('is never offered to another person, and only once to the same person', async () => {
    const other = await newColleague(scene.service, scene.clinic, 'admin')
    const { page } = await openAs(scene, admin, { at: '/departments' })
    await page.clock.install()
    await page.reload()
    await typeAndWait(page, 'Half a name')
    await signInAgain(page, other, scene.clinic.subdomain)
    await page.goto('/console/departments')
    await button(page, 'Add department').click()
    await page.getByRole('textbox', { name: 'Name' }).waitFor()
    expect(await button(page, 'Restore it').count()).toBe(0)
    expect(await page.content()).not.toContain('Half a name')
  })
})

describe.skipIf(!CHROMIUM).each(LOOKS)(
  'in the $theme theme at a width of $width px',
  ({ theme, width }) => {
    it('the pages of departments are accessible and fit the window, even with hostile names', async () => {
      const { body } = await ask('GET', '?search=onerror')
      const id = body.items[0]?.id ?? (await make(HOSTILE))
      const { page } = await openAs(scene, admin, {
        at: '/departments',
        colorScheme: theme,
        viewport: { width, height: 800 },
      })
      await page.getByRole('rowheader').first().waitFor()
      await inspectPage(page, `departments-${theme}-${width}`)
      await page.goto(`/console/departments?open=${id}`)
      await button(page, 'Delete').waitFor()
      await inspectPage(page, `departments-open-${theme}-${width}`)
      await button(page, 'Change head').click()
      await page.getByRole('combobox', { name: 'Head doctor' }).click()
      await page.getByRole('option', { name: 'No head doctor' }).waitFor()
      await inspectPage(page, `departments-head-${theme}-${width}`)
    })
  },
)
