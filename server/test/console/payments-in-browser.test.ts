/** The payments of clinics and the notifications of providers in a real browser. */
import { randomUUID } from 'node:crypto'
import type { Page } from 'playwright-core'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { renewAdmin } from '../sessions/users.ts'
import { CHROMIUM } from '../support/browser.ts'
import { builtConsole } from '../support/built-console.ts'
import { type Clinic, makeClinic, superadmin, type Person as User } from '../support/clinics.ts'
import { dataShown, inspectPage, LOOKS } from '../support/console-browser.ts'
import { pressOn } from '../support/console-keys.ts'
import { cardnetNotice, cardnetSignature } from '../support/payments.ts'
import { openService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { browse, type ConsoleScene, isFocused, MALFORMED, openAs } from './scene.ts'

const HOSTILE = `<img src=x onerror=alert(1)> \u05d0\u05d1\u05d2 =1+1 ${'W'.repeat(80)}`

let scene: ConsoleScene
let south: Clinic
let admin: User

const sql = (text: string, values?: unknown[]) =>
  scene.service.database.sql<{ id: number }>(text, values)

beforeAll(async () => {
  if (!CHROMIUM) return
  const service = await openService({
    consoleFolder: await builtConsole(),
    background: ['payments'],
  })
  const root = await superadmin(service)
  scene = await browse(service, root, await makeClinic(service, root, 'north'))
  south = await makeClinic(service, root, 'south')
  await sql('update tenants set name = $1 where id = $2', [HOSTILE, south.id])
  for (const status of ['succeeded', 'failed', 'pending']) await pay(scene.clinic, status)
  await pay(south, 'failed', 'paygate')
  await notify('succeeded', { id: 'pay_told', amount: 12_345 })
  await notify('failed', { id: HOSTILE, amount: 'much' })
})

beforeEach(async () => {
  if (!CHROMIUM) return
  await renewAdmin(scene.service, scene.clinic)
  admin = scene.clinic.people.admin
})

/** Inserts a payment of a clinic. */
const pay = ({ id }: Clinic, status: string, provider = 'cardnet') =>
  sql(
    `insert into payments (tenant_id, provider, provider_payment_id, status, amount,
       amount_refunded, currency, currency_exponent, said_at)
     values ($1, $2, $3, $4, 10000, 0, 'EUR', 2, 1)`,
    [id, provider, `pay-${status}-${randomUUID().slice(0, 8)}`, status],
  )

/** Receives a notification of cardnet about a payment of the clinic, and waits until it is processed. */
async function notify(type: string, object: Record<string, unknown>): Promise<void> {
  const { service, clinic } = scene
  const notice = cardnetNotice(type, { ...object, metadata: { tenant_id: clinic.id } })
  const payload = JSON.stringify(notice)
  const headers = { 'cardnet-signature': cardnetSignature(payload) }
  expect((await service.call('POST', '/webhooks/cardnet', { payload, headers })).status).toBe(200)
  await until('the notification is processed', async () => {
    await service.idle('payments')
    const waiting = await sql("select id from payment_notifications where state = 'received'")
    return waiting.length === 0 || undefined
  })
}

const asRoot = (at: string, options = {}) =>
  openAs(scene, scene.root, { at, subdomain: 'platform', ...options })
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
const panel = (page: Page) => page.getByRole('complementary')
const searchOf = (page: Page) => Object.fromEntries(new URL(page.url()).searchParams)

/** Returns the number of reads of bodies in the audit log. */
const readsOfBodies = async () =>
  (await sql("select id from journal where action = 'payment_notification.read'")).length

describe.skipIf(!CHROMIUM)('a superadmin on the page of payments', () => {
  it('finds the clinic whose payments failed, with its provider, and opens a failed one', async () => {
    const { page } = await asRoot('/payments')
    await page.getByRole('heading', { name: 'Payments of all clinics', level: 1 }).waitFor()
    await page.getByText('1–5 of 5').waitFor()
    const figures = page.getByRole('region', { name: 'Payments by clinic and provider' })
    const row = figures.getByRole('row').filter({ hasText: 'onerror' })
    await row.getByRole('cell', { name: 'paygate', exact: true }).waitFor()
    await pressOn(page, row.getByRole('link', { name: /^1, Failed payments of/ }))
    await page.waitForURL(`**/t/${south.id}/payments?*`)
    expect(searchOf(page)).toEqual({ provider: 'paygate', status: 'failed', range: '30d' })
    await page.getByText('1–1 of 1').waitFor()
    const own = page.getByRole('region', { name: 'Payments by provider' })
    await own.getByRole('rowheader', { name: 'paygate' }).waitFor()
    await page
      .getByRole('rowheader')
      .getByRole('link', { name: /^pay-failed-/ })
      .click()
    await panel(page).getByText('EUR 100.00').waitFor()
  })

  it('sees notifications of one clinic, or of all, and discards unverified ones', async () => {
    const { page } = await asRoot(`/t/${south.id}/payments/notifications`)
    await page.getByRole('heading', { name: 'No notifications' }).waitFor()
    await page.getByLabel('Clinic', { exact: true }).selectOption('all')
    await page.getByText('1–2 of 2').waitFor()
    expect(searchOf(page)).toEqual({ of: 'all' })
    await button(page, 'Discard unverified').click()
    const question = page.getByRole('alertdialog')
    await question.getByRole('button', { name: 'Discard unverified notifications' }).click()
    await page.getByText('Discarded 0 notifications.').waitFor()
    await page.goto('/console/payments/notifications')
    await page.getByText('1–2 of 2').waitFor()
    expect(await page.getByLabel('Clinic', { exact: true }).count()).toBe(0)
  })
})

describe.skipIf(!CHROMIUM)('an administrator on the page of payments', () => {
  it('filters payments, keeps the filters in the URL, and loads the page with two requests', async () => {
    const { page } = await openAs(scene, admin, { at: '/payments' })
    await page.getByText('1–4 of 4').waitFor()
    await page.getByLabel('Status', { exact: true }).selectOption('succeeded')
    await page.getByLabel('Provider', { exact: true }).selectOption('cardnet')
    await button(page, '7 d').click()
    await page.getByLabel('Id of a payment at the provider').fill('pay_told')
    await page.getByText('1–1 of 1').waitFor()
    await page.getByRole('link', { name: 'pay_told' }).click()
    await panel(page).getByText('Applied').waitFor()
    const { open, ...filters } = searchOf(page)
    expect(open).toMatch(/^\d+$/)
    expect(filters).toEqual({
      status: 'succeeded',
      provider: 'cardnet',
      range: '7d',
      search: 'pay_told',
    })
    const back = page.url()
    await panel(page).getByRole('link', { name: 'payment.succeeded' }).click()
    await page.waitForURL('**/payments/notifications?*')
    await panel(page).getByText('Applied').waitFor()
    await page.goBack()
    await page.waitForURL(back)
    await panel(page).getByText('Applied').waitFor()
    await page.keyboard.press('Escape')
    await isFocused(page.getByRole('link', { name: 'pay_told' }))
    const asked: string[] = []
    page.on('request', (request) => {
      if (request.url().includes('/api/admin/payments')) asked.push(request.url())
    })
    await page.reload()
    await page.getByText('1–1 of 1').waitFor()
    await dataShown(page)
    expect(asked).toHaveLength(2)
    await button(page, 'Clear filters').click()
    await page.getByText('1–4 of 4').waitFor()
  })

  it('sees only the figures of the own clinic', async () => {
    const { page } = await openAs(scene, admin, { at: '/payments' })
    const figures = page.getByRole('region', { name: 'Payments by provider' })
    await figures.getByRole('rowheader', { name: 'cardnet' }).waitFor()
    expect(await figures.getByRole('table').innerText()).not.toContain('paygate')
    await figures
      .getByText('Configured payment providers: cardnet. Not configured: paygate.')
      .waitFor()
  })

  it('does not see a payment of another clinic', async () => {
    const [foreign] = await sql('select id from payments where tenant_id = $1', [south.id])
    const at = `/payments?open=${foreign?.id}`
    const { page, expectStatus } = await openAs(scene, admin, { at })
    expectStatus(404)
    await page.getByRole('complementary', { name: 'Payment not found' }).waitFor()
    const root = await asRoot(`/t/${scene.clinic.id}/payments?open=${foreign?.id}`)
    await root.page.getByRole('complementary', { name: 'Payment not found' }).waitFor()
  })

  it('reads the body of a notification only on request, which the audit log records', async () => {
    const before = await readsOfBodies()
    const { page } = await openAs(scene, admin, { at: '/payments/notifications?state=failed' })
    await pressOn(page, page.getByRole('rowheader').getByRole('link').first())
    await panel(page)
      .getByText(
        'An amount is not a plain number, is too large, or has more decimal places than its currency.',
      )
      .waitFor()
    expect(await readsOfBodies()).toBe(before)
    expect(await page.content()).not.toContain('&quot;much&quot;')
    await pressOn(page, button(page, 'Show body'))
    await panel(page).locator('pre').getByText('"much"').waitFor()
    await isFocused(panel(page).locator('pre'))
    expect(await readsOfBodies()).toBe(before + 1)
    await page.reload()
    await button(page, 'Show body').waitFor()
    expect(await readsOfBodies()).toBe(before + 1)
  })

  it('tries a failed notification again', async () => {
    const { page } = await openAs(scene, admin, { at: '/payments/notifications?state=failed' })
    await page.getByRole('rowheader').getByRole('link').first().click()
    const attempts = panel(page).locator('dt', { hasText: 'Attempts' }).locator('+ dd')
    const before = Number(await attempts.innerText())
    await pressOn(page, button(page, 'Try again'))
    await page.getByText('The notification is waiting to be processed.').waitFor()
    await scene.service.idle('payments')
    await attempts.getByText(String(before + 1), { exact: true }).waitFor()
    await button(page, 'Try again').waitFor()
    // The button disappears while the notification waits, unless the service is faster than the page.
    await panel(page).locator(':focus').waitFor()
    const [row] = await sql(
      "select attempts as id from payment_notifications where state = 'failed'",
    )
    expect(row?.id).toBeGreaterThan(1)
  })

  it('can use URLs with malformed parameters', async () => {
    const { page, expectStatus } = await openAs(scene, admin, { at: '/payments' })
    expectStatus(404)
    for (const path of ['payments', 'payments/notifications'])
      for (const parameters of [...MALFORMED, 'range=9d&from=x&to=y&provider=none&of=none']) {
        await page.goto(`/console/${path}?${parameters}`)
        await page
          .getByRole('table', { name: /^Payment( notification)?s/ })
          .last()
          .waitFor()
      }
  })
})

describe.skipIf(!CHROMIUM)('an auditor on the pages of payments', () => {
  it('reads payments and notifications, and sees neither bodies nor actions', async () => {
    const { auditor } = scene.clinic.people
    const { page } = await openAs(scene, auditor, { at: '/payments/notifications?state=failed' })
    await page.getByRole('rowheader').getByRole('link').first().click()
    await panel(page).getByText('An amount is not a plain number').waitFor()
    for (const act of ['Show body', 'Try again', 'Discard unverified'])
      expect(await button(page, act).count()).toBe(0)
  })

  it('is not joined by other roles', async () => {
    const { page } = await openAs(scene, scene.clinic.people.nurse, { at: '/payments' })
    await page.getByText('Not available for your role').waitFor()
  })
})

describe.skipIf(!CHROMIUM).each(LOOKS)(
  'in the $theme theme at a width of $width px',
  ({ theme, width }) => {
    it('the pages of payments are accessible and fit the window, even with hostile names', async () => {
      const looks = { colorScheme: theme, viewport: { width, height: 900 } } as const
      const { page } = await asRoot(`/t/${scene.clinic.id}/payments`, looks)
      await dataShown(page)
      await inspectPage(page, `payments-${theme}-${width}`)
      await page.getByRole('link', { name: 'pay_told' }).click()
      await panel(page).getByText('Applied').waitFor()
      await inspectPage(page, `payment-${theme}-${width}`)
      await page.goto(`/console/t/${scene.clinic.id}/payments/notifications?of=all`)
      await dataShown(page)
      await inspectPage(page, `notifications-${theme}-${width}`)
      await page.getByRole('rowheader').getByRole('link', { name: 'payment.failed' }).click()
      await button(page, 'Show body').click()
      await panel(page).locator('pre').waitFor()
      await inspectPage(page, `notification-${theme}-${width}`)
    })
  },
)
