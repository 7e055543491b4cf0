/**
 * Takes the screenshots for README and docs, on a demo clinic after a busy day. Runs only with `npm run console:full`.
 */
import { beforeAll, describe, expect, it } from 'vitest'
import { CHROMIUM } from '../support/browser.ts'
import { builtConsole } from '../support/built-console.ts'
import { signIn } from '../support/clinics.ts'
import { isEveryLook, submitSignIn } from '../support/console-browser.ts'
import { openService, type Service } from '../support/service.ts'
import { ADMIN, openSignIn, save, show, take } from './screenshots.ts'

const PEOPLE = [
  ['Amara Okafor', 'doctor'],
  ['Keiko Álvarez', 'nurse'],
  ['Dalia Lindqvist', 'receptionist'],
  ['Tomás Novák', 'nurse'],
  ['Priya Raman', 'doctor'],
  ['Jonas Weber', 'nurse'],
  ['Fatima Haddad', 'doctor'],
  ['Liam O’Connor', 'receptionist'],
  ['Mei Tanaka', 'nurse'],
  ['Sofia Rossi', 'doctor'],
] as const
const APPLICANTS = ['Nina Brandt', 'Paul Girard', 'Rosa Lindgren']

const headers = {
  'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
}

let service: Service
let base: string

beforeAll(async () => {
  if (!CHROMIUM || !isEveryLook) return
  service = await openService({
    consoleFolder: await builtConsole(),
    config: { DEMO: true },
    background: ['stats'],
  })
  await addPastDay()
  await addPresent()
  await service.idle('stats')
  base = await service.app.server.listen({ host: '127.0.0.1', port: 0 })
})

/** Writes the sign-ins, changes and deliveries of a past day. Their IDs are below those of the clinic's own entries. */
async function addPastDay(): Promise<void> {
  await service.database.sql(`
    insert into journal (id, tenant_id, action, resource_type, created_at)
    select row_number() over (order by hour, n % 60) - 100000,
      t.id, (array['auth.login', 'auth.login', 'auth.login', 'user.updated', 'auth.login_failed'])[1 + n % 5],
      'session', now() - interval '23 hours' + make_interval(mins => hour * 60 + n % 60)
    from tenants t, generate_series(0, 22) hour,
      generate_series(0, (12 + 40 * (1 + sin(hour / 23.0 * 2 * pi() - 2)))::int) n
    where t.subdomain = 'demo'`)
  const { access_token: token } = await signIn(service, ADMIN)
  const webhook = await service.call('POST', '/api/webhooks/register', {
    token,
    body: { url: 'http://127.0.0.1:9/hook', events: ['user.*'] },
  })
  await service.database.sql(
    `select ensure_webhook_partitions((now() - interval '1 day')::date, now()::date)`,
  )
  await service.database.sql(
    `insert into webhook_deliveries (tenant_id, webhook_id, entry_id, event_at, event, status)
     select tenant_id, $1, id, created_at, action, case when id % 17 = 0 then 'failed' else 'delivered' end
     from journal where action = 'user.updated'
       and tenant_id = (select id from tenants where subdomain = 'demo')`,
    [webhook.body.id],
  )
  await service.database.sql(
    `insert into stats (tenant_id, series, slot, count, step)
     select tenant_id, 'deliveries_' || status, date_bin('15 minutes', event_at, 'epoch'), count(*), 7
     from webhook_deliveries group by 1, 2, 3`,
  )
  await service.database.sql(
    `update webhook_queues set failing_since = now() - interval '26 min' where webhook_id = $1`,
    [webhook.body.id],
  )
}

/** Makes today's changes through the API, as the administrator. */
async function addPresent(): Promise<void> {
  const { access_token: token, tenant_id } = await signIn(service, ADMIN)
  const call = async (method: string, path: string, body?: object) => {
    const answer = await service.call(method, path, { token, headers, ...(body && { body }) })
    expect([path, answer.status < 300]).toEqual([path, true])
    return answer.body
  }
  const departments = (await call('GET', '/api/admin/departments')).items
  const addressOf = (name: string) =>
    `${name
      .normalize('NFD')
      .replaceAll(/[^a-z ]/gi, '')
      .toLowerCase()
      .replaceAll(' ', '.')}@demo.local`
  const ids: number[] = []
  for (const [at, [full_name, role]] of PEOPLE.entries()) {
    const { id } = await call('POST', '/api/admin/users', {
      email: addressOf(full_name),
      password: `correct-Horse-9${at}`,
      full_name,
      role,
      department_id: departments[at % departments.length].id,
    })
    ids.push(id)
  }
  await call('PUT', `/api/admin/tenants/${tenant_id}`, { settings: { registration: 'approval' } })
  for (const full_name of APPLICANTS)
    await call('POST', '/api/auth/register', {
      email: addressOf(full_name),
      password: 'correct-Horse-9',
      full_name,
      role: 'nurse',
      subdomain: 'demo',
    })
  await call('POST', `/api/admin/users/${ids[2]}/block`)
  await call('PUT', `/api/admin/users/${ids[1]}/role`, { role: 'doctor' })
}

describe.skipIf(!CHROMIUM || !isEveryLook)('the screenshots of the documentation', () => {
  it('show every page of the demo clinic', async () => {
    const page = await openSignIn(base, { colorScheme: 'light' })
    await page.getByRole('heading', { level: 1 }).waitFor()
    await save(page, 'sign-in')
    await submitSignIn(page, ADMIN)
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    await take(page, 'overview')
    await show(page, 'users', 'users')
    await page.getByRole('link', { name: 'Keiko Álvarez' }).click()
    await page.getByRole('tab', { name: 'History' }).click()
    await page.getByRole('tabpanel').getByText('role', { exact: false }).first().waitFor()
    await take(page, 'user-history')
    await show(page, 'users/approvals', 'approvals')
    await page.goto('/console/audit?resource_type=user')
    await page.getByRole('row', { name: 'another role' }).getByRole('link').first().click()
    await page.locator('aside h2').waitFor()
    await take(page, 'audit-entry')
  })

  it('show the dark theme and a phone', async () => {
    const dark = await openSignIn(base, { colorScheme: 'dark' })
    await submitSignIn(dark, ADMIN)
    await dark.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    await take(dark, 'overview-dark')
    const phone = await openSignIn(base, { viewport: { width: 360, height: 740 } })
    await submitSignIn(phone, ADMIN)
    await phone.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    await take(phone, 'overview-on-a-phone')
  })
})
