/** Approvals and changes of users in a real browser, including changes that a colleague makes to the same users. */
import type { Page } from 'playwright-core'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { register } from '../accounts/people.ts'
import { fresh, newColleague } from '../sessions/users.ts'
import { forgive } from '../support/accounts.ts'
import { CHROMIUM } from '../support/browser.ts'
import { type Clinic, makeClinic } from '../support/clinics.ts'
import { pressOn, waitForFocus } from '../support/console-keys.ts'
import { type ConsoleScene, openAs, openConsole } from './scene.ts'

let scene: ConsoleScene

beforeAll(async () => {
  if (CHROMIUM) scene = await openConsole()
})

beforeEach(async () => {
  if (CHROMIUM) await forgive(scene.service)
})

const DECIDED = 'Someone else has already decided about this registration.'

/** Opens a page of a new clinic with `count` pending registrations. */
async function openApprovals(count: number, at = '/users/approvals') {
  const clinic = await makeClinic(scene.service, scene.root, fresh('waiting'))
  const people: { id: number; name: string }[] = []
  for (let index = 0; index < count; index += 1) people.push(await apply(clinic))
  const { admin } = clinic.people
  const tab = await openAs(scene, admin, { at, subdomain: clinic.subdomain })
  return { ...tab, clinic, people }
}

async function apply({ subdomain }: Clinic) {
  const name = fresh('Applicant')
  const email = `${name}@${subdomain}.test`
  const { id } = await register(scene.service, subdomain, { email, full_name: name })
  return { id, name }
}

/** Sends a command about a user from a colleague's session. */
async function elsewhere(clinic: Clinic, method: string, path: string) {
  const options = { token: clinic.people.admin.token }
  const { status, body } = await scene.service.call(method, `/api/admin/users/${path}`, options)
  expect(status).toBeLessThan(300)
  return body
}

const statusOf = async (clinic: Clinic, id: number | undefined) =>
  (await elsewhere(clinic, 'GET', `${id}`)).status

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
const toast = (page: Page, text: string) => page.getByRole('status').getByText(text)

describe.skipIf(!CHROMIUM)('the page of pending approvals', () => {
  it('lets an admin approve two people with the keyboard, and moves the focus to the next person', async () => {
    const { page, clinic, people } = await openApprovals(2, '/users')
    await pressOn(page, page.getByRole('link', { name: '2 waiting for approval', exact: true }))
    const decisions = page.getByRole('button', { name: /^Approve Applicant/ })
    await expect.poll(() => decisions.count()).toBe(2)
    await pressOn(page, decisions.first())
    await expect.poll(() => decisions.count()).toBe(1)
    await waitForFocus(page, decisions.first())
    await page.keyboard.press('Enter')
    await page.getByText('Nobody is waiting').waitFor()
    await waitForFocus(page, page.getByRole('heading', { level: 1 }))
    for (const { id } of people) expect(await statusOf(clinic, id)).toBe('active')
  })

  it('does not delete a person whom another admin has approved', async () => {
    const { page, expectStatus, clinic, people } = await openApprovals(2)
    const [first, second] = people
    await button(page, `Refuse ${first?.name}`).click()
    const dialog = page.getByRole('alertdialog')
    await dialog.waitFor()
    await elsewhere(clinic, 'POST', `${first?.id}/unblock`)
    expectStatus(409)
    await dialog.getByRole('button', { name: `Refuse ${first?.name}` }).click()
    await toast(page, DECIDED).waitFor()
    await button(page, `Refuse ${first?.name}`).waitFor({ state: 'detached' })
    await waitForFocus(page, button(page, `Approve ${second?.name}`))
    expect(await statusOf(clinic, first?.id)).toBe('active')
  })

  it('does not approve a person whom another admin has approved and then blocked', async () => {
    const { page, expectStatus, clinic, people } = await openApprovals(1)
    const [first] = people
    const approve = button(page, `Approve ${first?.name}`)
    await approve.waitFor()
    await elsewhere(clinic, 'POST', `${first?.id}/unblock`)
    await elsewhere(clinic, 'POST', `${first?.id}/block`)
    expectStatus(409)
    await approve.click()
    await toast(page, DECIDED).waitFor()
    await page.getByText('Nobody is waiting').waitFor()
    expect(await statusOf(clinic, first?.id)).toBe('blocked')
  })

  it('names selected people about whom another admin has already decided', async () => {
    const { page, expectStatus, clinic, people } = await openApprovals(3)
    await button(page, `Refuse ${people[2]?.name}`).waitFor()
    await page.getByRole('checkbox', { name: 'Choose all on this page' }).check()
    await button(page, 'Refuse').click()
    await elsewhere(clinic, 'POST', `${people[0]?.id}/unblock`)
    await elsewhere(clinic, 'DELETE', `${people[1]?.id}`)
    expectStatus(404, 409)
    await button(page, 'Refuse 3 people').click()
    const report = page.getByRole('dialog', { name: 'Refuse 3 people' })
    await report.getByText('Done for 1 of 3. Refused for 2 people:').waitFor()
    expect(await report.getByText(DECIDED).count()).toBe(2)
    expect(await button(page, 'Undo').count()).toBe(0)
    await report.getByRole('button', { name: 'Close' }).click()
    await page.getByText('Nobody is waiting').waitFor()
    expect(await statusOf(clinic, people[0]?.id)).toBe('active')
  })

  it('shows new registrations and decisions of other admins within a minute', async () => {
    const { page, clinic, people } = await openApprovals(1)
    await button(page, `Approve ${people[0]?.name}`).waitFor()
    await page.clock.install()
    await page.reload()
    await button(page, `Approve ${people[0]?.name}`).waitFor()
    await elsewhere(clinic, 'POST', `${people[0]?.id}/unblock`)
    const next = await apply(clinic)
    await page.clock.fastForward(61_000)
    await button(page, `Approve ${next.name}`).waitFor()
    expect(await button(page, `Approve ${people[0]?.name}`).count()).toBe(0)
  })
})

describe.skipIf(!CHROMIUM)('the form for editing a user', () => {
  it('keeps changes that a colleague saved in the meantime', async () => {
    const { service, clinic } = scene
    const user = await newColleague(service, clinic, 'nurse')
    const { page } = await openAs(scene, clinic.people.admin, { at: '/users' })
    await page.clock.install()
    await page.goto(`/console/users?open=${user.id}`)
    await button(page, 'Edit').click()
    await page.getByLabel('Name', { exact: true }).fill('Renamed Here')
    const path = `/api/admin/users/${user.id}`
    const body = { can_see_all_patients: true }
    await service.call('PUT', path, { token: clinic.people.admin.token, body })
    await page.clock.fastForward(10_000)
    const renewed = page.waitForResponse((answer) => answer.url().endsWith(path))
    await page.evaluate("window.dispatchEvent(new Event('visibilitychange'))")
    await renewed
    await button(page, 'Save changes').click()
    await toast(page, 'Saved the changes of Renamed Here.').waitFor()
    const changed = { full_name: 'Renamed Here', can_see_all_patients: true }
    expect(await elsewhere(clinic, 'GET', `${user.id}`)).toMatchObject(changed)
  })
})
