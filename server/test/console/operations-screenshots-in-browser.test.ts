/**
 * Takes the screenshots of backups, webhooks, payments and the service for docs. Runs only with `npm run console:full`.
 */
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { make } from '../backups/support.ts'
import { senderTo } from '../payments/scene.ts'
import { CHROMIUM } from '../support/browser.ts'
import { builtConsole } from '../support/built-console.ts'
import { makeClinic, signIn, superadmin, type Person as User } from '../support/clinics.ts'
import { dataShown, isEveryLook, submitSignIn } from '../support/console-browser.ts'
import { cardnetNotice } from '../support/payments.ts'
import { openReceiver } from '../support/receiver.ts'
import { openService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import { ADMIN, openSignIn, show, take } from './screenshots.ts'

let service: Service
let root: User
let demo: number
let token: string
let base: string

const sql = (text: string, values: unknown[] = []) => service.database.sql(text, values)

beforeAll(async () => {
  if (!CHROMIUM || !isEveryLook) return
  service = await openService({
    consoleFolder: await builtConsole(),
    config: { DEMO: true },
    background: ['backups', 'encryption', 'jobs', 'payments', 'webhooks'],
  })
  root = await superadmin(service)
  const signedIn = await signIn(service, ADMIN)
  token = signedIn.access_token
  demo = signedIn.tenant_id
  base = await service.app.server.listen({ host: '127.0.0.1', port: 0 })
  await addBackups()
  await addWebhooks()
  await addPayments()
  await sql(
    `update departments set head_doctor_id = (select id from users where email = 'nurse@demo.local')
     where tenant_id = $1 and id = (select min(id) from departments where tenant_id = $1)`,
    [demo],
  )
})

const call = async (method: string, path: string, body?: object, by = token) => {
  const answer = await service.call(method, path, { token: by, ...(body && { body }) })
  expect([path, answer.status < 300]).toEqual([path, true])
  return answer.body
}

/** Makes three backups of the last days, two of which a test restored, and changes the clinic afterwards. */
async function addBackups(): Promise<void> {
  // Only backups from after the clinic was added prove anything for it.
  await sql("update tenants set created_at = now() - interval '30 days' where id = $1", [demo])
  for (const [days, seconds] of [
    [3, 38],
    [2, 41],
    [1, 40],
  ]) {
    const id = await make(service, root)
    await sql(
      `update backups set created_at = created_at - $2 * interval '1 day',
         verified_at = verified_at - $2 * interval '1 day', drill_seconds = $3::real,
         size_bytes = 1_200_000_000 + 10_000_000 * $2::integer where id = $1`,
      [id, days, seconds],
    )
  }
  const { items } = await call('GET', '/api/admin/users?limit=100')
  const idOf = (email: string) => items.find((user: User) => user.email === email).id
  await call('POST', `/api/admin/users/${idOf('receptionist@demo.local')}/block`)
  await call('PUT', `/api/admin/users/${idOf('doctor2@demo.local')}`, { full_name: 'Vera Sommer' })
  await call('POST', '/api/admin/departments', { name: 'Dialysis' })
}

/** Registers two webhooks. The receiver of one fails. */
async function addWebhooks(): Promise<void> {
  const receiver = await openReceiver({
    answer: ({ path }) =>
      path === '/lab' ? { status: 500, body: '{"error":"disk full"}' } : { status: 200 },
  })
  const register = async (path: string) =>
    (
      await call('POST', '/api/webhooks/register', {
        url: new URL(path, receiver.url).href,
        events: ['department.*'],
      })
    ).id
  const [failing, healthy] = [await register('/lab'), await register('/hr')]
  for (const name of ['Nephrology', 'Oncology', 'Neurology', 'Urology'])
    await call('POST', '/api/admin/departments', { name })
  await until('the attempts', async () => {
    const rows = await sql('select from webhook_attempts')
    return rows.length >= 8 || undefined
  })
  await sql(
    `update webhook_deliveries set status = 'failed', due_at = null, finished_at = now(), status_class = 5
     where webhook_id = $1 and entry_id < (select max(entry_id) from webhook_deliveries)`,
    [failing],
  )
  // The last message stays waiting. The picture shows invented addresses, to which nothing may be sent.
  await sql(
    "update webhook_deliveries set due_at = now() + interval '2 h' where status = 'pending'",
  )
  await sql(
    "update webhook_queues set failing_since = now() - interval '26 min' where webhook_id = $1",
    [failing],
  )
  for (const [id, host] of [
    [failing, 'lab.north.example/wardkeep'],
    [healthy, 'hr.north.example/events'],
  ])
    await sql('update webhooks set url = $2 where id = $1', [id, `https://${host}`])
}

/** Receives payments of two clinics, one of which failed, and a notification that cannot be applied. */
async function addPayments(): Promise<void> {
  const { id: north } = await makeClinic(service, root, 'north')
  await sql("update tenants set name = 'Clinic at the Park' where id = $1", [north])
  const send = senderTo(service)
  const report = (type: string, id: string, amount: number, tenant_id: number) =>
    send(cardnetNotice(type, { id, amount, metadata: { tenant_id } }))
  for (let each = 1; each <= 9; each += 1)
    await report('succeeded', `pay_8f${each}0a`, 1250 * each, demo)
  await report('failed', 'pay_8fb1c', 4200, demo)
  await report('authorized', 'pay_8fc2d', 9900, demo)
  await report('succeeded', 'pay_41d07', 3100, north)
  await report('succeeded', 'pay_90001', 700, 99_999)
  await until('the notifications to be processed', async () => {
    const left = await sql("select from payment_notifications where state = 'received'")
    return left.length === 0 || undefined
  })
}

async function openAs(user: { email: string; password: string; subdomain: string }): Promise<Page> {
  const page = await openSignIn(base, { colorScheme: 'light' })
  await submitSignIn(page, user)
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
  await dataShown(page)
  return page
}

describe.skipIf(!CHROMIUM || !isEveryLook)('the screenshots of the operator’s pages', () => {
  it('show webhooks and their deliveries', async () => {
    const page = await openAs(ADMIN)
    await show(page, 'webhooks', 'webhooks')
    await page.getByRole('link', { name: /lab\.north/ }).click()
    await page
      .getByRole('row', { name: /Failed/ })
      .first()
      .waitFor()
    await page
      .getByRole('row', { name: /Failed/ })
      .first()
      .getByRole('link')
      .click()
    await page.getByText('disk full').waitFor()
    await take(page, 'webhook-deliveries')
  })

  it('show backups, a preview, keys, faults, caches, health, payments and clinics', async () => {
    const page = await openAs({ ...root, subdomain: 'platform' })
    await show(page, `t/${demo}/backups`, 'backups')
    await page.getByRole('rowheader').first().getByRole('link').click()
    await page.getByRole('link', { name: 'Restore…' }).click()
    await page.getByRole('button', { name: 'Preview the changes' }).click()
    await page.getByRole('button', { name: 'Restore…' }).waitFor()
    await take(page, 'restore-preview')
    await call('POST', '/api/admin/encryption/rotate', {}, root.token)
    await until('the rotation', async () => {
      const { items } = await call('GET', '/api/admin/jobs?kind=rotation', undefined, root.token)
      return items[0]?.status === 'completed' || undefined
    })
    await show(page, 'encryption', 'encryption')
    await service.app.features.selfHealing.scan()
    await page.goto(`/console/t/${demo}/self-healing`)
    await page.getByRole('rowheader').first().getByRole('link').click()
    await page.getByText('What the repair does').waitFor()
    await take(page, 'self-healing')
    const patients = await call('GET', '/api/patients?limit=50')
    for (const { id } of [...patients.items, ...patients.items])
      await call('GET', `/api/patients/${id}`)
    // The name of the node contains the name of the machine.
    await page.route('**/api/admin/cache/stats*', async (route) => {
      const response = await route.fetch()
      await route.fulfill({ response, json: { ...(await response.json()), node: 'node-1' } })
    })
    for (const path of ['cache', 'health', 'payments']) await show(page, `t/${demo}/${path}`, path)
    await show(page, 'tenants', 'clinics')
  })
})
