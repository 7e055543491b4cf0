/** The overview of the console in a real browser: the items that need attention, and their links. */
import type { Browser, Page } from 'playwright-core'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { senderTo } from '../payments/scene.ts'
import { renewAdmin } from '../sessions/users.ts'
import { forgive } from '../support/accounts.ts'
import { CHROMIUM } from '../support/browser.ts'
import { builtConsole } from '../support/built-console.ts'
import { type Clinic, makeClinic, PASSWORD, superadmin } from '../support/clinics.ts'
import {
  dataShown,
  inspectPage,
  LOOKS,
  launchBrowser,
  openPerson,
  submitSignIn,
} from '../support/console-browser.ts'
import { SUPERADMIN } from '../support/open-service.ts'
import { cardnetNotice } from '../support/payments.ts'
import { openService, type Service } from '../support/service.ts'

let service: Service
let quiet: Clinic
let busy: Clinic
let base: string
let browser: Browser

beforeAll(async () => {
  if (!CHROMIUM) return
  service = await openService({ consoleFolder: await builtConsole() })
  const root = await superadmin(service)
  quiet = await makeClinic(service, root, 'quiet')
  busy = await makeClinic(service, root, 'busy')
  await disturb(busy)
  base = await service.app.server.listen({ host: '127.0.0.1', port: 0 })
  browser = await launchBrowser()
})

beforeEach(async () => {
  if (!CHROMIUM) return
  await forgive(service)
  for (const clinic of [quiet, busy]) await renewAdmin(service, clinic)
})

/** Creates one case of everything in a clinic that needs attention. */
async function disturb(clinic: Clinic): Promise<void> {
  const { sql } = service.database
  const { people, departmentId, id, subdomain } = clinic
  for (const name of ['Wanda', 'Willy'])
    await service.call('POST', '/api/auth/register', {
      body: {
        email: `${name.toLowerCase()}@busy.test`,
        password: PASSWORD,
        full_name: `${name} Waiting`,
        role: 'nurse',
        subdomain,
      },
    })
  const { token } = people.admin
  const hook = await service.call('POST', '/api/webhooks/register', {
    token,
    body: { url: 'http://127.0.0.1:9/secret-path', events: ['*'] },
  })
  await sql(
    "update webhook_queues set failing_since = now() - interval '26 min' where webhook_id = $1",
    [hook.body.id],
  )
  await sql('update departments set head_doctor_id = $1 where id = $2', [
    people.doctor.id,
    departmentId,
  ])
  await service.call('POST', `/api/admin/users/${people.nurse.id}/block`, { token })
  await sql('update users set is_active = false where id = $1', [people.doctor.id])
  await service.app.features.selfHealing.scan()
  await sql(
    `with made as (
       insert into backups (id, type, tenant_id, reason, status)
       values (gen_random_uuid(), 'tenant', $1, 'request', 'failed') returning id)
     insert into backup_jobs (id, backup_id, tenant_id, kind, status, actor, options, finished_at)
     select gen_random_uuid(), id, $1, 'create', 'failed', '{}', '{}', now() from made`,
    [id],
  )
  await count(id)
  const config = { CARDNET_WEBHOOK_SECRET: [] }
  const earlier = await openService({ database: service.database, config, role: 'api' })
  await senderTo(earlier)(cardnetNotice('succeeded'))
}

/** Adds counts: one event in the current quarter of an hour, and ten for each of the 29 days before. */
async function count(tenantId: number): Promise<void> {
  await service.database.sql(
    `insert into stats (tenant_id, series, slot, count, step)
     select $1, series, date_bin('15 minutes', now(), 'epoch') - n * interval '1 day',
       case when n = 0 then 1 else 10 end, step
     from generate_series(0, 29) n, (values ('sign_ins', 0), ('refused_sign_ins', 0),
       ('changes', 0), ('deliveries_delivered', 7), ('deliveries_failed', 9)) s(series, step)`,
    [tenantId],
  )
}

async function openOverview(
  person: { email: string; password: string; subdomain: string },
  path = '/console',
  width = 1280,
  theme: 'light' | 'dark' = 'light',
): Promise<Page> {
  const options = { viewport: { width, height: 900 }, colorScheme: theme }
  const page = await (await openPerson(browser, base, options)).newTab()
  await page.goto(path)
  await submitSignIn(page, person)
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
  await dataShown(page)
  return page
}

const adminOf = (clinic: Clinic) => ({
  ...clinic.people.admin,
  subdomain: clinic.subdomain,
})
const needs = (page: Page) => page.getByRole('region', { name: 'Needs attention' })

describe.skipIf(!CHROMIUM)('the overview page', () => {
  it('is the start page, and says if nothing needs attention', async () => {
    const page = await openOverview(adminOf(quiet))
    expect(new URL(page.url()).pathname).toBe('/console/overview')
    await needs(page).getByText('Nothing needs your attention.').waitFor()
    expect(await needs(page).getByRole('listitem').count()).toBe(0)
  })

  it('lists what needs attention, and each link leads to an existing page', async () => {
    const page = await openOverview(adminOf(busy))
    const lines = await needs(page).getByRole('listitem').allTextContents()
    const expected = [
      /^2 people are waiting for approval.*Oldest:/,
      /^A webhook is failing.*127\.0\.0\.1:9.*26 min ago/,
      /^A backup failed/,
      /^1 fault waits for a superadmin/,
    ]
    expect(lines).toHaveLength(expected.length)
    for (const [at, pattern] of expected.entries()) expect(lines[at]).toMatch(pattern)
    expect(await page.content()).not.toContain('secret-path')
    const links = await needs(page).getByRole('link').all()
    for (const link of links) expect(await link.getAttribute('href')).toMatch(/^\/console\//)
    await needs(page)
      .getByRole('link', { name: /^Review/ })
      .click()
    await page.getByText('Wanda Waiting').first().waitFor()
    expect(new URL(page.url()).pathname).toBe('/console/users/approvals')
  })

  it('shows a superadmin the clinic named in the URL, and details of the installation', async () => {
    const person = { ...SUPERADMIN, subdomain: 'platform' }
    const page = await openOverview(person, `/console/t/${busy.id}/overview`)
    await needs(page).getByText('2 people are waiting for approval').waitFor()
    await needs(page).getByText('1 payment notification could not be verified').waitFor()
    await needs(page)
      .getByRole('link', { name: /^Review/ })
      .click()
    await page.waitForURL(new RegExp(`/t/${busy.id}/users/approvals`))
  })

  it('asks a superadmin to look at an unhealthy part, and names a backup that was only verified', async () => {
    const page = await (await openPerson(browser, base)).newTab()
    await page.route('**/api/admin/overview?*', async (route) => {
      const response = await route.fetch()
      const overview = await response.json()
      const [first] = overview.health.components
      Object.assign(first, { name: 'backups', state: 'degraded', reason: 'Too old.' })
      const at = new Date().toISOString()
      const tests = { drill_seconds: null, tested_at: null }
      const backup = { created_at: at, verified_at: at, ...tests, is_late: false }
      Object.assign(overview.attention, { backups: { ...overview.attention.backups, ...backup } })
      await route.fulfill({ response, json: overview })
    })
    await page.goto('/console')
    await submitSignIn(page, { ...SUPERADMIN, subdomain: 'platform' })
    await page.getByRole('heading', { name: 'Verified backup' }).waitFor()
    const link = needs(page).getByRole('link', { name: /part.* of the service need.* attention$/ })
    await link.click()
    await page.getByRole('heading', { level: 1, name: 'Health' }).waitFor()
  })

  it('shows numbers, charts, the health of the service and the latest changes', async () => {
    const page = await openOverview(adminOf(busy))
    const figures = page.getByRole('region', { name: 'Last 24 hours' })
    for (const name of ['Sign-ins', 'Sign-ins refused', 'Messages delivered', 'Changes'])
      await figures.getByRole('heading', { name, exact: true }).waitFor()
    await page.getByRole('slider', { name: 'Sign-ins' }).waitFor()
    await page.getByRole('slider', { name: 'Webhook deliveries' }).waitFor()
    await page.getByRole('region', { name: 'Health' }).getByText('Database').waitFor()
    const latest = page.getByRole('region', { name: 'Latest changes' })
    await latest.getByRole('link', { name: /^User blocked/ }).click()
    await page.getByRole('complementary').getByText('A user was blocked').first().waitFor()
  })

  it('shows the figures and charts of the period in the URL', async () => {
    const page = await openOverview(adminOf(busy))
    const totalOf = (period: string) =>
      page
        .getByRole('region', { name: period })
        .locator('.card', { has: page.getByRole('heading', { name: 'Changes', exact: true }) })
        .locator('.figure')
        .textContent()
    expect(await totalOf('Last 24 hours')).toBe('1')
    await page.getByRole('button', { name: 'Last 30 days' }).click()
    await page.getByRole('region', { name: 'Last 30 days' }).waitFor()
    expect(new URL(page.url()).search).toBe('?period=30d')
    expect(await totalOf('Last 30 days')).toBe('291')
    await page.reload()
    await page.getByRole('region', { name: 'Last 30 days' }).waitFor()
    await page.getByRole('button', { name: 'Last 7 days' }).click()
    await page.getByRole('region', { name: 'Last 7 days' }).waitFor()
    expect(await totalOf('Last 7 days')).toBe('61')
    await page.goBack()
    await page.getByRole('region', { name: 'Last 30 days' }).waitFor()
  })

  it('reads out values by keyboard and marks the day that has not ended, also in the table', async () => {
    const page = await openOverview(adminOf(busy), '/console/overview?period=7d')
    const chart = page.getByRole('slider', { name: 'Sign-ins' })
    await chart.focus()
    await page.keyboard.press('End')
    const reading = () => chart.getAttribute('aria-valuetext')
    expect(await reading()).toMatch(/[(]so far[)]: Signed in 1, Refused 1$/)
    await page.keyboard.press('ArrowLeft')
    expect(await reading()).toMatch(/^[^:(]+: Signed in 10, Refused 10$/)
    await page.getByRole('button', { name: 'Show as table: Webhook deliveries' }).click()
    const rows = page
      .getByRole('region', { name: 'Webhook deliveries, as a table' })
      .getByRole('row')
    expect(await rows.count()).toBe(1 + 7)
    expect(await rows.last().textContent()).toMatch(/[(]so far[)]11$/)
    expect(await rows.nth(1).textContent()).toMatch(/1010$/)
  })

  it('shows zeros where nothing happened', async () => {
    const page = await openOverview(adminOf(quiet))
    const chart = page.getByRole('slider', { name: 'Webhook deliveries' })
    expect(await chart.getAttribute('aria-valuetext')).toMatch(/: Delivered 0, Failed 0$/)
  })

  it('shows the other sections if the figures cannot be loaded', async () => {
    const person = await openPerson(browser, base)
    person.expectStatus(500)
    const page = await person.newTab()
    const json = { detail: 'An internal error occurred.', code: 'internal' }
    await page.route('**/api/admin/stats?*', (route) => route.fulfill({ status: 500, json }))
    await page.goto('/console')
    await submitSignIn(page, adminOf(quiet))
    await page.getByText('An internal error occurred.').first().waitFor()
    await page.getByRole('region', { name: 'Health' }).getByText('Database').waitFor()
  })

  it('names the sections that cannot be loaded, and shows the other sections', async () => {
    await service.database.sql('revoke select on backup_jobs from wardkeep_app')
    try {
      const page = await openOverview(adminOf(busy))
      await page.getByText('Not available right now: failed backup jobs.').waitFor()
      await needs(page).getByText('2 people are waiting for approval').waitFor()
    } finally {
      await service.database.sql('grant select on backup_jobs to wardkeep_app')
    }
  })

  it('reloads its data every 20 seconds', async () => {
    const page = await (await openPerson(browser, base)).newTab()
    await page.clock.install()
    await page.goto('/console')
    await submitSignIn(page, adminOf(quiet))
    await dataShown(page)
    const renewed = page.waitForResponse(/api\/admin\/overview/)
    await page.clock.fastForward(21_000)
    await renewed
  })

  it.each(LOOKS)(
    'is accessible and fits the window: $theme, $width px',
    async ({ theme, width }) => {
      const page = await openOverview(adminOf(busy), '/console', width, theme)
      await inspectPage(page, `overview-${theme}-${width}`)
    },
  )
})
