/** The audit log of the console in a real browser: its filters, entries, live updates and export. */
import { readFile } from 'node:fs/promises'
import type { Browser, Download, Page } from 'playwright-core'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { SECOND } from '../../src/lib/clock.ts'
import { newColleague, renewAdmin } from '../sessions/users.ts'
import { forgive } from '../support/accounts.ts'
import { CHROMIUM } from '../support/browser.ts'
import type { Clinic, Person as User } from '../support/clinics.ts'
import { inspectPage, LOOKS, openPerson, submitSignIn } from '../support/console-browser.ts'
import type { Service } from '../support/service.ts'
import { openConsole } from './scene.ts'

const AUDIT = '/console/audit'
const HOSTILE = '=1+1 <b>שלום</b> '.padEnd(150, 'long')
const ROLE_CHANGED = 'A user was given another role and was signed out'

let service: Service
let clinic: Clinic
let base: string
let browser: Browser
/** Changed by the administrator before each test. */
let nurse: User

beforeAll(async () => {
  if (!CHROMIUM) return
  ;({ service, clinic, base, browser } = await openConsole())
})

beforeEach(async () => {
  if (!CHROMIUM) return
  await renewAdmin(service, clinic)
  await forgive(service)
  nurse = await newColleague(service, clinic, 'nurse')
  await change(nurse, 'role', { role: 'doctor' })
})

const change = async ({ id }: User, what: string, body: object) => {
  const { token } = clinic.people.admin
  const answer = await service.call('PUT', `/api/admin/users/${id}/${what}`, { token, body })
  expect(answer.status).toBe(200)
}

/** Opens a page of the audit log as an auditor, or as someone else. */
async function openAudit(path = AUDIT, who: User = clinic.people.auditor, title = 'Audit log') {
  const person = await openPerson(browser, base, { viewport: { width: 1280, height: 900 } })
  const page = await person.newTab()
  await page.goto(path)
  await submitSignIn(page, { ...who, subdomain: clinic.subdomain })
  await page.getByRole('heading', { name: title, level: 1 }).waitFor()
  return { page, person }
}

const table = (page: Page) => page.getByRole('table', { name: /^Audit log/ })
const rows = (page: Page) =>
  table(page)
    .locator('tbody tr')
    .filter({ has: page.getByRole('rowheader') })
const changeOf = (page: Page, { email }: User) =>
  rows(page).filter({ hasText: ROLE_CHANGED }).filter({ hasText: email })
const panel = (page: Page) => page.getByRole('complementary')

/** Waits until every row has the text. */
async function onlyShows(page: Page, text: string | RegExp): Promise<void> {
  await expect
    .poll(async () => {
      const busy = await table(page).getAttribute('aria-busy')
      const all = await rows(page).count()
      return (
        busy === 'false' && all > 0 && all === (await rows(page).filter({ hasText: text }).count())
      )
    })
    .toBe(true)
}

const parameter = (page: Page, name: string) => new URL(page.url()).searchParams.get(name)

describe.skipIf(!CHROMIUM)('the audit log page', () => {
  it('shows who did what, to which record and from where, after two requests', async () => {
    const { page } = await openAudit()
    const row = changeOf(page, nurse)
    await row.waitFor()
    const requests: string[] = []
    page.on('request', (request) => requests.push(new URL(request.url()).pathname))
    await page.reload()
    await row.waitFor()
    expect(await row.textContent()).toContain('admin of north')
    const ofFrame = ['/api/console/session/refresh', '/api/admin/tenants']
    const ofPage = requests.filter((path) => path.startsWith('/api/') && !ofFrame.includes(path))
    expect(ofPage.sort()).toEqual(['/api/admin/audit', '/api/admin/audit/actions'])
  })

  it('keeps filters, order and the open entry after a reload and after going back in the history', async () => {
    const { page } = await openAudit(`${AUDIT}?group=%5B%22user%22%5D&limit=50`)
    await onlyShows(page, /user/i)
    await page.getByRole('button', { name: 'Time' }).click()
    await page.waitForURL(/sort=created_at/)
    await changeOf(page, nurse).getByRole('link').click()
    await panel(page).waitFor()
    const opened = page.url()
    await page.reload()
    await panel(page).getByRole('heading', { name: ROLE_CHANGED }).waitFor()
    expect(page.url()).toBe(opened)
    await page
      .getByRole('columnheader', { name: 'Time' })
      .and(page.locator('[aria-sort="ascending"]'))
      .waitFor()
    await page.getByRole('button', { name: 'Actions: Users' }).waitFor()
    await page.goBack()
    await panel(page).waitFor({ state: 'detached' })
    await page.goBack()
    await page.locator('[aria-sort="descending"]').waitFor()
  })

  it('ignores malformed URL parameters', async () => {
    const { page } = await openAudit()
    const malformed = [
      'action=nothing.known&group=unknown&user_id=x&resource_id=57&range=century&page=x&open=x',
      'action=%5B%22%22%5D&group=%7B%7D&user_id=-1&about_user=1.5&from=now&at=then&page=0',
      'resource_type=%22%5Cu0000%22&request_id=12&ip=999.1.1.1&from=2026-03-02&to=2026-03-01',
      'ip=fe80%3A%3A1%250&from=2026-02-31&to=2026-03-31&limit=7&sort=-password',
    ]
    for (const parameters of malformed) {
      await page.goto(`${AUDIT}?${parameters}`)
      await changeOf(page, nurse).first().waitFor()
    }
  })

  it('shows the first page if the URL contains an invalid position', async () => {
    const { page, person } = await openAudit()
    person.expectStatus(422)
    await page.goto(`${AUDIT}?after=nowhere`)
    await changeOf(page, nurse).waitFor()
    expect(parameter(page, 'after')).toBeNull()
  })

  it('shows later pages unchanged when new entries are written', async () => {
    const { page } = await openAudit(`${AUDIT}?range=all`)
    await page.getByRole('button', { name: 'Next', exact: true }).click()
    await page.waitForURL(/page=2/)
    await page.getByText(/^21–/).waitFor()
    const seconds = await rows(page).allTextContents()
    await change(nurse, 'role', { role: 'receptionist' })
    await page.reload()
    await page.getByText(/^21–/).waitFor()
    expect(await rows(page).allTextContents()).toEqual(seconds)
  })
})

describe.skipIf(!CHROMIUM)('the filters of the audit log page', () => {
  it('narrow the list to single actions and to a group of actions', async () => {
    const { page } = await openAudit()
    await page.getByRole('button', { name: 'Any action' }).click()
    await page.getByText('11 actions Users').click()
    await page.getByRole('checkbox', { name: ROLE_CHANGED }).check()
    await onlyShows(page, ROLE_CHANGED)
    await page.getByRole('checkbox', { name: 'Users', exact: true }).check()
    await expect.poll(() => parameter(page, 'group')).toBe('["user"]')
    await onlyShows(page, /user/i)
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Actions: Users' }).click()
    await page.getByRole('button', { name: 'Any action' }).last().click()
    await rows(page).filter({ hasText: 'A user signed in' }).first().waitFor()
  })

  it('narrow the list to a person, whose name is still shown after a reload', async () => {
    const { page } = await openAudit()
    await page.getByRole('combobox', { name: 'Who' }).fill('admin of')
    await page.getByRole('option', { name: /admin of north/ }).click()
    await onlyShows(page, 'admin of north')
    await page.reload()
    await onlyShows(page, 'admin of north')
    expect(await page.getByRole('combobox', { name: 'Who' }).inputValue()).toBe('admin of north')
    await page.goto(`${AUDIT}?user_id=${nurse.id}&group=%5B%22backup%22%5D`)
    await page.getByRole('heading', { name: 'Nothing found' }).waitFor()
    const who = page.getByRole('combobox', { name: 'Who' })
    await expect.poll(() => who.inputValue()).toBe(nurse.email)
    await page.getByRole('button', { name: 'Clear filters' }).click()
    await changeOf(page, nurse).waitFor()
  })

  it('narrow the list to a record, a request and an IP address', async () => {
    const { page } = await openAudit()
    await page.getByRole('combobox', { name: 'Kind of record' }).selectOption('User')
    await page.getByRole('textbox', { name: 'Record id' }).fill(String(nurse.id))
    await page.keyboard.press('Enter')
    await onlyShows(page, nurse.email)
    await page.getByText(`All entries about ${nurse.email}`).waitFor()
    await page.goBack()
    await expect.poll(() => parameter(page, 'resource_id')).toBeNull()
    await page.goForward()
    await changeOf(page, nurse).getByRole('link').click()
    await panel(page).getByRole('link', { name: 'All entries of this request' }).click()
    await onlyShows(page, ROLE_CHANGED)
    await page.getByRole('button', { name: 'Remove: All entries of this request' }).click()
    await rows(page).filter({ hasText: 'A user signed in' }).first().waitFor()
    const address = page.getByRole('textbox', { name: 'Address' })
    await address.fill('nowhere')
    await page.keyboard.press('Enter')
    await page.getByText('Not an IP address.').waitFor()
    await address.fill('203.0.113.99')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Nothing found' }).waitFor()
    expect(parameter(page, 'ip')).toBe('203.0.113.99')
  })
})

describe.skipIf(!CHROMIUM)('the panel of an audit entry', () => {
  it('shows the value of each changed field before and after', async () => {
    const { page } = await openAudit()
    await changeOf(page, nurse).getByRole('link').click()
    const role = panel(page).getByRole('row', { name: /^Role/ })
    await expect.poll(() => role.locator('del').textContent()).toBe('Nurse')
    expect(await role.locator('ins').textContent()).toBe('Doctor')
    await panel(page).getByText('by admin of north').waitFor()
    await page.keyboard.press('Escape')
    await panel(page).waitFor({ state: 'detached' })
    expect(await page.evaluate('document.activeElement.closest("tr").textContent')).toContain(
      nurse.email,
    )
  })

  it('says which values are secret and therefore hidden', async () => {
    await change(nurse, 'password', { password: 'another-Horse-7' })
    const { page } = await openAudit()
    await rows(page)
      .filter({ hasText: "A user's password was changed" })
      .first()
      .getByRole('link')
      .click()
    await panel(page).getByRole('row', { name: 'Password kept secret' }).waitFor()
  })

  it('stays open after a reload even if newer entries have moved the entry to another page', async () => {
    const { page } = await openAudit()
    await changeOf(page, nurse).first().getByRole('link').click()
    await page.waitForURL(/opened=/)
    await page.goto(`${page.url()}&ip=203.0.113.99`)
    await page.getByRole('heading', { name: 'Nothing found' }).waitFor()
    await panel(page).getByRole('heading', { name: ROLE_CHANGED }).waitFor()
  })

  it('says that the open entry does not match the filters', async () => {
    const { page } = await openAudit(`${AUDIT}?open=1&ip=203.0.113.99`)
    await panel(page).getByRole('heading', { name: 'This entry is not on the page' }).waitFor()
    await panel(page).getByRole('button', { name: 'Close' }).last().click()
    await panel(page).waitFor({ state: 'detached' })
  })

  it('can be reached with the keyboard alone, and names the author of the change', async () => {
    const { page } = await openAudit('/console/account', clinic.people.auditor, 'My account')
    const press = async (...keys: string[]) => {
      for (const key of keys) await page.keyboard.press(key)
    }
    await press('g', 'a')
    await changeOf(page, nurse).waitFor()
    const focused = () => page.evaluate('document.activeElement.ariaLabel')
    for (let tabs = 0; tabs < 10 && (await focused()) !== 'Kind of record'; tabs += 1)
      await press('Tab')
    expect(await focused()).toBe('Kind of record')
    // A single letter, because a list forgets the letters before a pause.
    await page.keyboard.type('U')
    await page.getByRole('textbox', { name: 'Record id' }).waitFor()
    await press('Tab')
    await page.keyboard.type(String(nurse.id))
    await press('Enter')
    await onlyShows(page, nurse.email)
    await press('Tab', 'Tab', 'j', 'Enter')
    await panel(page).getByText('by admin of north').waitFor()
    await panel(page).getByRole('row', { name: /^Role/ }).waitFor()
  })
})

describe.skipIf(!CHROMIUM)('live updates of the audit log page', () => {
  it('show new entries at the top, and keep the focus', async () => {
    const { page } = await openAudit()
    await page.getByRole('button', { name: 'Live' }).click()
    await page.getByText('Waiting for new entries').waitFor()
    const before = await rows(page).first().textContent()
    await change(nurse, 'role', { role: 'receptionist' })
    await page
      .getByRole('status')
      .filter({ hasText: /^1 new entry, / })
      .waitFor()
    expect(await rows(page).first().textContent()).toContain(`New: `)
    expect(await rows(page).first().textContent()).toContain(ROLE_CHANGED)
    expect(await rows(page).nth(1).textContent()).toBe(before)
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Live')
    await page.getByRole('button', { name: 'Time' }).click()
    await page.getByText(/^Paused\./).waitFor()
  })

  it('send no requests while the tab is hidden', async () => {
    const { page } = await openAudit()
    await changeOf(page, nurse).waitFor()
    await page.clock.install()
    let asked = 0
    page.on('request', (request) => {
      if (new URL(request.url()).pathname === '/api/admin/audit') asked += 1
    })
    await page.getByRole('button', { name: 'Live' }).click()
    const show = (state: 'hidden' | 'visible') =>
      page.evaluate(`
        Object.defineProperty(document, 'visibilityState', { value: '${state}', configurable: true })
        document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))`)
    await page.clock.runFor(5 * SECOND)
    await expect.poll(() => asked).toBeGreaterThan(0)
    await show('hidden')
    const before = asked
    await page.clock.runFor(30 * SECOND)
    expect(asked).toBe(before)
    await change(nurse, 'role', { role: 'receptionist' })
    await show('visible')
    await page.getByText(/^1 new entry, /).waitFor()
  })
})

describe.skipIf(!CHROMIUM)('an export from the audit log page', () => {
  const save = async (page: Page): Promise<Download> => {
    const saved = page.waitForEvent('download')
    await page.getByRole('dialog').getByRole('button', { name: 'Export the audit log' }).click()
    return saved
  }

  it('contains the matching entries, and no spreadsheet formula', async () => {
    const { token } = clinic.people.admin
    const renamed = await service.call('PUT', `/api/admin/users/${nurse.id}`, {
      token,
      body: { full_name: HOSTILE },
    })
    expect(renamed.status).toBe(200)
    const { page } = await openAudit(`${AUDIT}?resource_type=user&resource_id=${nurse.id}`)
    await rows(page).first().waitFor()
    const count = await rows(page).count()
    await page.getByRole('button', { name: 'Export' }).click()
    await page.getByText(`${count} entries match the filters.`).waitFor()
    const csv = await save(page)
    expect(csv.suggestedFilename()).toMatch(/^audit-tenant-\d+-.+\.csv$/)
    const text = await readFile(await csv.path(), 'utf8')
    expect(text.trim().split('\r\n')).toHaveLength(1 + count)
    expect(text).toContain("'=1+1")
    expect(text).not.toMatch(/(?:^|,)"?=1\+1/m)
    await page.getByText(/^Download started: audit-/).waitFor()
    await page.getByRole('radio', { name: /^NDJSON/ }).check()
    const lines = (await readFile(await (await save(page)).path(), 'utf8')).trim().split('\n')
    const entries = lines.map((line) => JSON.parse(line))
    expect(entries.map(({ resource_id }) => resource_id)).toEqual(
      Array.from({ length: count }, () => String(nurse.id)),
    )
  })

  it('explains what to do when it is refused', async () => {
    const { page, person } = await openAudit()
    person.expectStatus(429)
    await page.getByRole('button', { name: 'Export' }).click()
    await page.route('**/api/admin/audit/export**', (route) =>
      route.fulfill({
        status: 429,
        contentType: 'application/json',
        body: JSON.stringify({ detail: 'Two exports are running. Wait for one.', code: 'busy' }),
      }),
    )
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Export the audit log' }).click()
    await dialog.getByText('Two exports are running. Wait for one.').waitFor()
  })

  it('can be cancelled', async () => {
    const { page } = await openAudit()
    await page.getByRole('button', { name: 'Export' }).click()
    await page.route('**/api/admin/audit/export**', () => undefined)
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Export the audit log' }).click()
    await dialog.getByRole('button', { name: 'Cancel the export' }).click()
    await dialog.getByRole('button', { name: 'Cancel', exact: true }).click()
    await dialog.waitFor({ state: 'detached' })
  })
})

describe.skipIf(!CHROMIUM)('the audit log page in themes and widths', () => {
  it.each(LOOKS)('is accessible: $theme, $width', async ({ theme, width }) => {
    const { page } = await openAudit(`${AUDIT}?resource_type=user&resource_id=${nurse.id}`)
    await page.emulateMedia({ colorScheme: theme })
    await page.setViewportSize({ width, height: 800 })
    await changeOf(page, nurse).first().waitFor()
    await inspectPage(page, `audit-${theme}-${width}`)
    await changeOf(page, nurse).first().getByRole('link').click()
    await panel(page).getByRole('row', { name: /^Role/ }).waitFor()
    await inspectPage(page, `audit-entry-${theme}-${width}`)
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Any action' }).click()
    await page.getByText('11 actions Users').click()
    await inspectPage(page, `audit-filter-${theme}-${width}`)
  })
})
