/** The pages about webhooks in a real browser. */
import type { Page } from 'playwright-core'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { renewAdmin } from '../sessions/users.ts'
import { CHROMIUM } from '../support/browser.ts'
import { builtConsole } from '../support/built-console.ts'
import { makeClinic, superadmin, type Person as User } from '../support/clinics.ts'
import { dataShown, inspectPage, LOOKS } from '../support/console-browser.ts'
import { openReceiver, type Receiver } from '../support/receiver.ts'
import { openService } from '../support/service.ts'
import { clinicOn, type WebhookClinic } from '../webhooks/clinic.ts'
import { browse, type ConsoleScene, isFocused, MALFORMED, openAs } from './scene.ts'

const HOSTILE = `<img src=x onerror=alert(1)> \u05d0\u05d1\u05d2 =1+1 ${'W'.repeat(300)}`

let scene: ConsoleScene
let hooks: WebhookClinic
let receiver: Receiver
let admin: User

beforeAll(async () => {
  if (!CHROMIUM) return
  const service = await openService({
    consoleFolder: await builtConsole(),
    background: ['jobs', 'webhooks'],
  })
  const root = await superadmin(service)
  const clinic = await makeClinic(service, root, 'north')
  scene = await browse(service, root, clinic)
  receiver = await openReceiver()
})

beforeEach(async () => {
  if (!CHROMIUM) return
  await renewAdmin(scene.service, scene.clinic)
  admin = scene.clinic.people.admin
  hooks = clinicOn(scene.service, scene.clinic)
  await scene.service.database.sql('delete from webhooks')
  receiver.answerWith(() => ({ status: 200 }))
})

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
const sql = <Row extends Record<string, unknown> = Record<string, unknown>>(
  text: string,
  values: unknown[] = [],
) => scene.service.database.sql<Row>(text, values)

let count = 0
/** Creates departments, each of which is an event. */
async function cause(events: number): Promise<void> {
  for (let each = 0; each < events; each += 1) {
    count += 1
    await scene.service.call('POST', '/api/admin/departments', {
      token: admin.token,
      body: { name: `Department ${count}` },
    })
  }
}

/** Registers a webhook whose receiver fails for good with a response. */
async function failingWebhook(events: number, body: string, status = 503): Promise<number> {
  receiver.answerWith(() => ({ status, body }))
  const { id } = await hooks.register({ url: receiver.url, events: ['department.created'] })
  await cause(events)
  const failed = () => sql('select from webhook_attempts where webhook_id = $1', [id])
  await expect.poll(async () => (await failed()).length).toBeGreaterThan(0)
  await scene.service.idle('webhooks')
  await sql(
    `update webhook_deliveries set status = 'failed', due_at = null, finished_at = now(),
       status_class = coalesce(status_class, 5) where webhook_id = $1`,
    [id],
  )
  // The process with the lease would write its own state over this one.
  const aged = () =>
    sql(
      `update webhook_queues set failing_since = now() - interval '26 minutes'
       where webhook_id = $1 and leased_until is null returning webhook_id`,
      [id],
    )
  await expect.poll(async () => (await aged()).length).toBe(1)
  return id
}

const accepted = () => receiver.received.length

describe.skipIf(!CHROMIUM)('an administrator whose webhook fails', () => {
  it('finds out why, corrects the receiver, and sends the failed messages again', async () => {
    const id = await failingWebhook(3, 'down for maintenance')
    const { page } = await openAs(scene, admin, { at: '/webhooks' })
    const badge = page.getByRole('navigation', { name: 'Pages', exact: true })
    await badge.getByText('1 failing').waitFor()
    await page.getByRole('cell', { name: 'Failing', exact: true }).waitFor()
    await page.locator('tbody th a').click()
    await page.getByText('The receiver responded with 503.').waitFor()
    await page.getByText('The receiver is overloaded or in maintenance.').waitFor()
    // The open delivery shows the response, and the request as the receiver got it.
    const first = page.locator('tbody th a').last()
    await first.click()
    const panel = page.getByRole('complementary', { name: 'department.created' })
    await panel.getByText('down for maintenance').waitFor()
    const [sent] = receiver.received
    await panel.getByText(String(sent?.body), { exact: true }).waitFor()
    await panel.getByText(`webhook-id: ${sent?.id}`).waitFor()
    expect(await panel.innerText()).not.toContain('v1,')
    await page.keyboard.press('Escape')
    await isFocused(first)

    receiver.answerWith(() => ({ status: 200, body: 'welcome back' }))
    await button(page, 'Send test').click()
    const test = page.getByRole('dialog', { name: 'Test of the webhook' })
    await test.getByText(/The receiver accepted the message/).waitFor()
    await test.getByText('welcome back').waitFor()
    await test.getByRole('button', { name: 'Close' }).click()

    const before = accepted()
    await button(page, 'Retry all failed…').click()
    const dialog = page.getByRole('dialog', { name: 'Retry failed messages' })
    await dialog.getByText('3 messages will be sent.').waitFor()
    expect(accepted()).toBe(before)
    await dialog.getByRole('button', { name: 'Send 3 messages' }).click()
    await page.getByText('3 delivered, 0 failed, 0 waiting').waitFor()
    expect(accepted()).toBe(before + 3)
    expect(new URL(page.url()).searchParams.get('view')).toBe('replays')
    await page
      .getByRole('row', { name: /Failed messages/ })
      .getByText('Completed')
      .waitFor()
    const { body } = await hooks.call('GET', `/${id}/deliveries`, { query: { status: 'failed' } })
    expect(body.items).toEqual([])
  })

  it('learns that waiting messages need no retry, and sees them delivered after a test', async () => {
    receiver.answerWith(() => ({ status: 503 }))
    const { id } = await hooks.register({ url: receiver.url, events: ['department.created'] })
    await cause(2)
    const attempts = () => sql('select from webhook_attempts where webhook_id = $1', [id])
    await expect.poll(async () => (await attempts()).length).toBe(2)
    await sql('update webhook_queues set failing_since = now() where webhook_id = $1', [id])
    const { page } = await openAs(scene, admin, { at: `/webhooks/${id}` })
    await page.getByText('first failure just now').waitFor()
    const hint = /^A message is sent again some time after a failed attempt/
    await page.getByText(hint).waitFor()
    await button(page, 'Retry all failed…').click()
    const dialog = page.getByRole('dialog', { name: 'Retry failed messages' })
    await dialog.getByText(hint).waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    receiver.answerWith(() => ({ status: 200 }))
    await button(page, 'Send test').click()
    await page
      .getByRole('dialog', { name: 'Test of the webhook' })
      .getByRole('button', { name: 'Close' })
      .click()
    await page.getByText(hint).waitFor({ state: 'detached' })
    const delivered = page.getByRole('row', { name: /department\.created.*Delivered/ })
    await expect.poll(() => delivered.count()).toBe(2)
  })

  it('retries a single delivery with the keyboard', async () => {
    const id = await failingWebhook(1, 'no')
    receiver.answerWith(() => ({ status: 200 }))
    const { page } = await openAs(scene, admin, { at: `/webhooks/${id}?status=failed` })
    const link = page.locator('tbody th a')
    await link.focus()
    await page.keyboard.press('Enter')
    const panel = page.getByRole('complementary', { name: 'department.created' })
    const retry = panel.getByRole('button', { name: 'Retry' })
    await retry.focus()
    await page.keyboard.press('Enter')
    await panel.getByText('Delivered').waitFor()
    await page.getByText('The message is sent again now.').waitFor()
  })
})

describe.skipIf(!CHROMIUM)('an administrator of webhooks', () => {
  it('adds a webhook for chosen events, and sees its secret once with programs that verify', async () => {
    const { page } = await openAs(scene, admin, { at: '/webhooks' })
    await page.getByRole('heading', { name: 'No webhooks yet' }).waitFor()
    await button(page, 'Add webhook').click()
    const form = page.getByRole('dialog', { name: 'Add webhook' })
    await form.getByLabel('Address').fill(receiver.url)
    await form.getByLabel('All events, also those of later releases').uncheck()
    await form.getByRole('button', { name: 'Add webhook' }).click()
    await form.getByRole('link', { name: 'Choose at least one event.' }).waitFor()
    await form.locator('summary', { hasText: /^user$/ }).click()
    await form.getByText('Example of user.created').click()
    await form.getByText('"type": "user.created"').waitFor()
    const chosen = form.getByRole('checkbox', { name: /^user\.created/ })
    await chosen.check()
    // The group stays open when its last event is removed.
    await chosen.uncheck()
    await chosen.check()
    await form.getByRole('button', { name: 'Add webhook' }).click()
    const dialog = page.getByRole('dialog', { name: 'The secret of the webhook' })
    const secret = await dialog.locator('pre', { hasText: 'whsec_' }).first().innerText()
    await dialog.getByText(/^Verify messages in/).click()
    await dialog.getByRole('tab', { name: 'Python' }).click()
    await dialog.getByText('def is_genuine').waitFor()
    await dialog.getByRole('checkbox', { name: /kept/ }).check()
    await dialog.getByRole('button', { name: 'Done' }).click()
    await page.getByRole('heading', { level: 1, name: new URL(receiver.url).host }).waitFor()
    expect(await page.content()).not.toContain(secret)
    const [webhook] = (await hooks.call('GET')).body
    expect(webhook.events).toEqual(['user.created'])
    await hooks.call('POST', `/${webhook.id}/test`)
    receiver.verifyWith(secret, receiver.received.slice(-1))
  })

  it('pauses, changes and deletes a webhook, and withdraws its previous secret', async () => {
    const { id } = await hooks.register({ url: receiver.url })
    const { page } = await openAs(scene, admin, { at: `/webhooks/${id}` })
    const act = async (name: string) => {
      await button(page, 'More actions').click()
      await page.getByRole('menuitem', { name }).click()
    }
    const confirm = (name: string) =>
      page.getByRole('alertdialog').getByRole('button', { name }).click()
    await act('Deactivate webhook')
    await confirm('Deactivate webhook')
    await page.getByText('An administrator deactivated this webhook.').waitFor()
    await act('Activate webhook')
    await confirm('Activate webhook')
    await page.getByText(/^Activated the webhook/).waitFor()
    await act('Replace secret')
    const form = page.getByRole('dialog', { name: 'Replace secret' })
    await form.getByLabel(/^Secret/).fill('a secret of the receiver')
    await form.getByRole('button', { name: 'Replace secret' }).click()
    await page.getByText('The previous secret also signs until').waitFor()
    await act('Withdraw the previous secret')
    await confirm('Withdraw the previous secret')
    await page.getByText('The previous secret also signs until').waitFor({ state: 'detached' })
    await act('Change webhook')
    const change = page.getByRole('dialog', { name: 'Change webhook' })
    await change.getByLabel('Address').fill(`${receiver.url}/new`)
    await change.getByRole('button', { name: 'Change webhook' }).click()
    await page.getByText(`${receiver.url}/new`).waitFor()
    await act('Delete webhook')
    await confirm(`Delete the webhook to ${new URL(receiver.url).host}`)
    await page.getByRole('heading', { name: 'No webhooks yet' }).waitFor()
    expect((await hooks.call('GET')).body).toEqual([])
  })

  it('finds every filter of the deliveries in the URL, which loads with two requests', async () => {
    const id = await failingWebhook(2, 'no', 404)
    const { page } = await openAs(scene, admin, { at: `/webhooks/${id}` })
    await page.getByRole('combobox', { name: 'Status' }).selectOption('failed')
    await page.getByRole('combobox', { name: 'Response' }).selectOption('4xx')
    await button(page, '24 h').click()
    await page.getByText('1–2 of 2').waitFor()
    expect(Object.fromEntries(new URL(page.url()).searchParams)).toEqual({
      status: 'failed',
      class: '4xx',
      range: '24h',
    })
    const asked: string[] = []
    page.on('request', (request) => {
      const { pathname } = new URL(request.url())
      if (pathname.startsWith(`/api/webhooks/${id}`)) asked.push(pathname)
    })
    await page.reload()
    await page.getByText('1–2 of 2').waitFor()
    expect(asked.sort()).toEqual([`/api/webhooks/${id}`, `/api/webhooks/${id}/deliveries`])
    await page.getByRole('textbox', { name: 'Message ID' }).fill('nonsense')
    await page.keyboard.press('Enter')
    await page.getByText('A message ID looks like msg_mhjt3e80_rt.').waitFor()
    await page.getByRole('combobox', { name: 'Status' }).selectOption('delivered')
    await page.getByRole('heading', { name: 'Nothing found' }).waitFor()
  })

  it('gets a page for malformed parameters, and for a webhook that does not exist', async () => {
    const { id } = await hooks.register({ url: receiver.url, events: ['user.blocked'] })
    const { page, expectStatus } = await openAs(scene, admin, { at: `/webhooks/${id}` })
    expectStatus(404)
    for (const parameters of [...MALFORMED, 'status=x&class=6xx&event=%00&from=1&to=2&view=no']) {
      await page.goto(`/console/webhooks/${id}?${parameters}`)
      await page.getByRole('heading', { name: 'No deliveries yet' }).waitFor()
    }
    for (const other of ['999999', 'none']) {
      await page.goto(`/console/webhooks/${other}`)
      await page.getByRole('heading', { level: 1, name: 'Webhook not found' }).waitFor()
    }
  })
})

describe.skipIf(!CHROMIUM)('a superadmin', () => {
  it('sees the webhooks of the platform, and of no clinic', async () => {
    const at = `/t/${scene.clinic.id}/webhooks`
    const { page } = await openAs(scene, scene.root, { at, subdomain: 'platform' })
    await page.getByText('Only the administrators of a clinic see its webhooks.').waitFor()
    await page.getByRole('link', { name: 'Show the webhooks of the platform' }).click()
    await page.getByRole('heading', { name: 'No webhooks yet' }).waitFor()
  })
})

describe.skipIf(!CHROMIUM).each(LOOKS)(
  'in the $theme theme at a width of $width px',
  ({ theme, width }) => {
    it('the pages of webhooks are accessible and fit the window, even with hostile responses', async () => {
      const id = await failingWebhook(2, HOSTILE, 500)
      const look = { colorScheme: theme, viewport: { width, height: 900 } }
      const { page } = await openAs(scene, admin, { at: '/webhooks', ...look })
      const inspect = async (name: string) => {
        await dataShown(page)
        await inspectPage(page, `webhooks-${name}-${theme}-${width}`)
      }
      await page.locator('tbody th a').first().waitFor()
      await inspect('list')
      await page.goto(`/console/webhooks/${id}`)
      await page.locator('tbody th a').first().waitFor()
      await inspect('one')
      await page.locator('tbody th a').last().click()
      await page.getByRole('complementary').getByText('onerror=alert(1)').waitFor()
      await inspect('delivery')
      await hooks.call('POST', `/${id}/replay`, {
        body: { since: new Date(Date.now() - 3_600_000).toISOString(), only_failed: true },
      })
      await page.goto(`/console/webhooks/${id}?view=replays`)
      await page.getByRole('row', { name: /Failed messages/ }).waitFor()
      await inspect('replays')
      await button(page, 'Replay…').click()
      await page.getByText(/messages will be sent|nothing to send/).waitFor()
      await inspectPage(page, `webhooks-replay-${theme}-${width}`)
      await page.goto('/console/webhooks')
      await button(page, 'Add webhook').click()
      await page.getByLabel('All events, also those of later releases').uncheck()
      await page.locator('summary', { hasText: /^user$/ }).click()
      await inspectPage(page, `webhooks-form-${theme}-${width}`)
    })
  },
)
