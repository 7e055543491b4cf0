/**
 * The pages about users in a real browser: their URLs, the use of the keyboard, and the effect of each action in the
 * service.
 */
import type { Browser, Page } from 'playwright-core'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { register } from '../accounts/people.ts'
import { fresh, newColleague } from '../sessions/users.ts'
import { forgive } from '../support/accounts.ts'
import { CHROMIUM } from '../support/browser.ts'
import { builtConsole } from '../support/built-console.ts'
import { type Clinic, makeClinic, type Person, superadmin } from '../support/clinics.ts'
import {
  inspectPage,
  LOOKS,
  launchBrowser,
  openPerson,
  submitSignIn,
} from '../support/console-browser.ts'
import { pressOn, waitForFocus } from '../support/console-keys.ts'
import { openService, type Service } from '../support/service.ts'

const NURSES = 24
const LONG_NAME = 'W'.repeat(200)
/** Names of every kind that has broken a page before. */
const HOSTILE_NAMES = [
  '<img src=x onerror="document.title=1">',
  LONG_NAME,
  'محمد عبد الرحمن',
  '=HYPERLINK("x")',
]

let service: Service
let clinic: Clinic
let browser: Browser
let base: string
let root: Person

beforeAll(async () => {
  if (!CHROMIUM) return
  service = await openService({ consoleFolder: await builtConsole() })
  root = await superadmin(service)
  clinic = await makeClinic(service, root, 'north')
  const names = Array.from({ length: NURSES }, (_, at) => `Nurse ${String(at).padStart(2, '0')}`)
  for (const [at, full_name] of names.entries())
    await add({ full_name, email: `member${at}@north.test`, role: 'nurse' })
  for (const [at, full_name] of HOSTILE_NAMES.entries())
    await add({ full_name, email: `hostile${at}@north.test`, role: 'nurse' })
  base = await service.app.server.listen({ host: '127.0.0.1', port: 0 })
  browser = await launchBrowser()
})

beforeEach(async () => {
  if (CHROMIUM) await forgive(service)
})

const token = () => clinic.people.admin.token

async function add(body: { full_name: string; email: string; role: string }): Promise<number> {
  const answer = await service.call('POST', '/api/admin/users', {
    token: token(),
    body: { ...body, department_id: clinic.departmentId },
  })
  expect(answer.status).toBe(201)
  return answer.body.id
}

const userOf = async (id: number) =>
  (await service.call('GET', `/api/admin/users/${id}`, { token: token() })).body

async function findByEmail(email: string) {
  const path = `/api/admin/users?search=${encodeURIComponent(email)}`
  return (await service.call('GET', path, { token: token() })).body.items[0]
}

/** Registers a person who waits for approval. */
function registerPerson() {
  const email = `${fresh('applicant')}@north.test`
  return register(service, clinic.subdomain, { email, full_name: email })
}

async function openAt(
  path: string,
  who: Person = clinic.people.admin,
  options: Parameters<typeof openPerson>[2] = {},
) {
  const person = await openPerson(browser, base, options)
  const page = await person.newTab()
  await page.goto(`/console${path}`)
  await submitSignIn(page, { ...who, subdomain: subdomainOf(who) })
  await page.getByRole('button', { name: /^Account of/ }).waitFor()
  await page.getByRole('heading', { level: 1 }).waitFor()
  return { page, person }
}

const subdomainOf = ({ tenant_id }: Person) =>
  tenant_id === clinic.id ? clinic.subdomain : 'platform'

const parameters = (page: Page) => Object.fromEntries(new URL(page.url()).searchParams)
const rowOf = (page: Page, name: string) => page.getByRole('link', { name, exact: true })
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
const panelOf = (page: Page, name: string) => page.getByRole('complementary', { name })
const toast = (page: Page, text: string) => page.getByRole('status').getByText(text)

describe.skipIf(!CHROMIUM)('the URL of the list of users', () => {
  it('keeps filters, order, page, the open user and the tab after a reload and after going back in the history', async () => {
    const { page } = await openAt('/users')
    await page.getByLabel('Role', { exact: true }).selectOption('Nurse')
    await page.getByRole('columnheader', { name: 'E-mail' }).getByRole('button').click()
    await button(page, 'Next').click()
    await page.waitForURL('**page=2')
    await page.getByText(/^21–/).waitFor()
    const link = page.getByRole('rowheader').getByRole('link').first()
    const name = (await link.textContent()) ?? ''
    await link.click()
    await panelOf(page, name).getByRole('tab', { name: 'Access' }).click()
    await page.waitForURL('**tab=access')
    const wanted = { role: 'nurse', sort: 'email', page: '2', open: expect.any(String) }
    expect(parameters(page)).toEqual({ ...wanted, tab: 'access' })
    await page.reload()
    await panelOf(page, name).getByText('Sees patients of').waitFor()
    await page.getByText(/^21–/).waitFor()
    await expect.poll(() => page.getByLabel('Role', { exact: true }).inputValue()).toBe('nurse')
    await page.goBack()
    await panelOf(page, name).getByText('Last sign-in').waitFor()
    await page.goBack()
    await panelOf(page, name).waitFor({ state: 'detached' })
    await page.goBack()
    await page.getByText(/^1–20 /).waitFor()
  })

  it('keeps the department filter after a reload, with the name of the department, and can clear every filter', async () => {
    const { page } = await openAt('/users?status=active&factor=off&search=nurse')
    const department = page.getByRole('combobox', { name: 'Department' })
    await department.click()
    await department.fill('surg')
    await page.getByRole('option', { name: 'Surgery' }).click()
    await page.waitForURL(`**department=${clinic.departmentId}`)
    await page.reload()
    await rowOf(page, 'Nurse 00').waitFor()
    await expect.poll(() => department.inputValue()).toBe('Surgery')
    await button(page, 'Clear filters').click()
    await expect.poll(() => parameters(page)).toEqual({})
    await expect.poll(() => department.inputValue()).toBe('Any department')
  })

  const MALFORMED = [
    'role=king',
    'role=',
    'role=["nurse"]',
    'status=9',
    'status=active&status=blocked',
    'department=abc',
    'department=-1',
    'department=1e99',
    'factor=maybe',
    'sort=password_hash',
    'sort=--email',
    'page=0',
    'page=-3',
    'page=1.5',
    'page=99999999999',
    'limit=7',
    'limit=x',
    'open=abc',
    'open=-1',
    'open=1.5',
    'open={"id":1}',
    'tab=none',
    `search=${'x'.repeat(300)}`,
    'search={"$gt":""}&search=null',
    'constructor=1&__proto__=2',
    'role=%E0%A4%A',
    `after=${'x'.repeat(5000)}`,
  ]

  it(`may contain any of ${MALFORMED.length} malformed parameters without an error`, async () => {
    const { page, person } = await openAt('/users')
    person.expectStatus(422)
    for (const search of MALFORMED) {
      await page.goto(`/console/users?${search}`, { waitUntil: 'commit' })
      const shown = page.getByRole('rowheader').or(page.getByText('Nothing found')).first()
      await shown.waitFor().catch(() => expect.fail(search))
    }
  })

  it('leads to a message if its user, page or position does not exist', async () => {
    const { page, person } = await openAt('/users')
    person.expectStatus(404, 422)
    await page.goto('/console/users?open=999999999')
    await panelOf(page, 'Not found').getByText('This person does not exist here.').waitFor()
    await page.goto('/console/users?page=400')
    await button(page, 'Show the first page').click()
    await page.getByText(/^1–20 /).waitFor()
    await page.goto('/console/users?after=elsewhere&role=nurse')
    await page.getByText('Nothing found').waitFor()
    await page.getByRole('main').getByRole('button', { name: 'Clear filters' }).last().click()
    await page.getByText(/^1–20 /).waitFor()
  })
})

describe.skipIf(!CHROMIUM)('an administrator who uses only the keyboard', () => {
  it('finds a user, opens the record and changes the role', async () => {
    const user = await newColleague(service, clinic, 'nurse')
    const { page } = await openAt('/users')
    await page.keyboard.press('/')
    await page.keyboard.type(user.email)
    await page.getByText(/^1–1 of 1$/).waitFor()
    await pressOn(page, rowOf(page, user.email))
    await waitForFocus(page, page.getByRole('heading', { name: user.email }))
    await pressOn(page, button(page, 'Change role'))
    await page.getByText('Signs out 1 session within a second.').waitFor()
    await page.keyboard.type('Doctor')
    await pressOn(page, page.getByRole('dialog').getByRole('button', { name: 'Change role' }))
    await toast(page, `${user.email} now has the role Doctor.`).waitFor()
    expect(await userOf(user.id)).toMatchObject({ role: 'doctor' })
    await page.keyboard.press('Escape')
    await waitForFocus(page, rowOf(page, user.email))
  })

  it('blocks a user and undoes the block', async () => {
    const user = await newColleague(service, clinic, 'nurse')
    const { page } = await openAt(`/users?open=${user.id}`)
    await pressOn(page, button(page, 'Block'))
    await page.getByText('Signs out 1 session within a second.').waitFor()
    await waitForFocus(page, button(page, 'Cancel'))
    await pressOn(page, button(page, `Block ${user.email}`))
    await toast(page, `Blocked ${user.email}.`).waitFor()
    expect(await userOf(user.id)).toMatchObject({ status: 'blocked' })
    await pressOn(page, button(page, 'Undo'))
    await toast(page, `Unblocked ${user.email}.`).waitFor()
    expect(await userOf(user.id)).toMatchObject({ status: 'active' })
  })

  it('finds a person from any page and opens the record', async () => {
    const { page } = await openAt('/account')
    await page.keyboard.press('Control+k')
    await page.keyboard.type('Nurse 17')
    await page.getByRole('option', { name: /^Nurse 17/ }).waitFor()
    await page.keyboard.press('Enter')
    await panelOf(page, 'Nurse 17').getByText('Last sign-in').waitFor()
  })
})

describe.skipIf(!CHROMIUM)('an administrator who changes users', () => {
  it('blocks several people one after another, sees who was refused, and undoes the blocks', async () => {
    const { page, person } = await openAt('/users?search=north.test&role=admin')
    const other = await newColleague(service, clinic, 'admin')
    const gone = await newColleague(service, clinic, 'admin')
    await page.reload()
    person.expectStatus(404)
    await rowOf(page, gone.email).waitFor()
    await page.getByRole('checkbox', { name: 'Choose all on this page' }).check()
    await button(page, 'Block').click()
    await page.getByText('1 person left out').waitFor()
    await service.call('DELETE', `/api/admin/users/${gone.id}`, { token: token() })
    await button(page, 'Block 2 people').click()
    const report = page.getByRole('dialog', { name: 'Block 2 people' })
    await report.getByText('Done for 1 of 2. Refused for 1 person:').waitFor()
    await report.getByText(gone.email).waitFor()
    expect(await userOf(other.id)).toMatchObject({ status: 'blocked' })
    await report.getByRole('button', { name: 'Undo' }).click()
    await toast(page, 'Unblocked 1 person.').waitFor()
    await waitForFocus(page, page.getByRole('heading', { level: 1 }))
    expect(await userOf(other.id)).toMatchObject({ status: 'active' })
    expect(await userOf(clinic.people.admin.id)).toMatchObject({ status: 'active' })
  })

  it('changes only the people selected on the current page', async () => {
    const { page } = await openAt('/users')
    await page.getByText(/^1–20 /).waitFor()
    await page.getByRole('checkbox', { name: 'Choose all on this page' }).check()
    await page.getByText('20 chosen').waitFor()
    expect(await page.getByRole('button', { name: /that match/ }).count()).toBe(0)
    await button(page, 'Next').click()
    await page.getByText(/^21–/).waitFor()
    expect(await page.getByText('20 chosen').count()).toBe(0)
  })

  it('adds a user with a password, and another user by invitation', async () => {
    const { page } = await openAt('/users')
    for (const way of ['password', 'invitation']) {
      const email = `${fresh(way)}@north.test`
      await button(page, 'Add user').click()
      const dialog = page.getByRole('dialog', { name: 'Add user' })
      await dialog.getByLabel('Name').fill(`New by ${way}`)
      await dialog.getByLabel('E-mail').fill(email)
      await dialog.getByLabel('Role').selectOption('Receptionist')
      if (way === 'password') {
        await dialog.getByLabel('With a password that you set').check()
        await dialog.getByLabel('Password', { exact: true }).fill('quiet-Meadow-37')
      }
      await dialog.getByRole('button', { name: 'Add user' }).click()
      await panelOf(page, `New by ${way}`).waitFor()
      const added = await findByEmail(email)
      expect(added).toMatchObject({
        role: 'receptionist',
        must_change_password: way === 'password',
      })
      expect(parameters(page).open).toBe(String(added.id))
    }
  })

  it('edits a user, moves the user, signs the user out and deletes the user', async () => {
    const user = await newColleague(service, clinic, 'nurse')
    const { page } = await openAt(`/users?open=${user.id}&tab=sessions`)
    const panel = panelOf(page, user.email)
    await panel.getByRole('button', { name: 'Edit' }).click()
    await page.getByLabel('Name', { exact: true }).fill('Renamed Person')
    const department = page.getByRole('dialog').getByRole('combobox', { name: 'Department' })
    await department.click()
    await page.getByRole('option', { name: 'Surgery' }).click()
    await button(page, 'Save changes').click()
    await toast(page, 'Saved the changes of Renamed Person.').waitFor()
    const department_id = clinic.departmentId
    expect(await userOf(user.id)).toMatchObject({ full_name: 'Renamed Person', department_id })
    await page.getByRole('button', { name: /^End the session of/ }).click()
    await button(page, 'End session').last().click()
    await page.getByText('Not signed in anywhere.').waitFor()
    await waitForFocus(page, panelOf(page, 'Renamed Person').getByRole('heading', { level: 2 }))
    await page.getByRole('tab', { name: 'History' }).click()
    await page
      .getByText(/sessions? of a user/i)
      .first()
      .waitFor()
    await button(page, 'More for Renamed Person').click()
    await page.getByRole('menuitem', { name: 'Delete' }).click()
    await page.getByLabel(`Type ${user.email} to confirm`).fill(user.email)
    await button(page, 'Delete Renamed Person').click()
    await toast(page, 'Deleted Renamed Person.').waitFor()
    expect(await findByEmail(user.email)).toBeUndefined()
    expect(parameters(page)).toEqual({})
    await waitForFocus(page, page.getByRole('heading', { level: 1 }))
  })
})

describe.skipIf(!CHROMIUM)('the list of users, for other roles,', () => {
  it('shows auditors the list and the panel without actions', async () => {
    const { page } = await openAt(`/users?open=${clinic.people.nurse.id}`, clinic.people.auditor)
    const panel = panelOf(page, 'nurse of north')
    await panel.getByText('Last sign-in').waitFor()
    const tabs = await panel.getByRole('tab').allTextContents()
    expect(tabs).toEqual(['Profile', 'Access', 'History'])
    expect(await page.getByRole('checkbox').count()).toBe(0)
    expect(await button(page, 'Add user').count()).toBe(0)
    expect(await panel.getByRole('button').allTextContents()).toEqual([''])
    await page.goto('/console/users/approvals')
    await page.getByText('Not available for your role').waitFor()
  })

  it('shows superadmins the users of the clinic in the URL', async () => {
    const { page } = await openAt(`/t/${clinic.id}/users?open=${root.id}`, root)
    await panelOf(page, 'Not found').waitFor()
    await rowOf(page, 'admin of north').waitFor()
    await page.goto(`/console/t/${root.tenant_id}/users?open=${root.id}`)
    await page.getByText('This is your account.').waitFor()
    expect(await button(page, 'Block').count()).toBe(0)
  })
})

describe.skipIf(!CHROMIUM).each(LOOKS)(
  'in the $theme theme at a width of $width px',
  ({ theme, width }) => {
    it('every page about users is accessible and fits the window', async () => {
      const looks = { colorScheme: theme, viewport: { width, height: 800 } }
      await registerPerson()
      const { page } = await openAt('/users?sort=-full_name', clinic.people.admin, looks)
      const inspect = (name: string) => inspectPage(page, `users-${name}-${theme}-${width}`)
      await rowOf(page, LONG_NAME).waitFor()
      await inspect('list')
      const { id } = await findByEmail('hostile1@north.test')
      await page.goto(`/console/users?sort=-full_name&open=${id}&tab=history`)
      await page.getByText('A user was created').waitFor()
      await inspect('panel')
      await button(page, 'Block').click()
      await page.getByText('Not signed in anywhere now.').waitFor()
      await inspect('block')
      await page.goto('/console/users/approvals')
      await page
        .getByRole('button', { name: /^Approve applicant/ })
        .first()
        .waitFor()
      await inspect('approvals')
      await page.goto('/console/users')
      await button(page, 'Add user').click()
      await page.getByRole('dialog', { name: 'Add user' }).waitFor()
      await inspect('add')
    })
  },
)
