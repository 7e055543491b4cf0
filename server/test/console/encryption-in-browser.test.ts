/** The keys and their rotation in a real browser. */
import type { Page } from 'playwright-core'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { MINUTE } from '../../src/lib/clock.ts'
import { ownerClient } from '../../src/platform/db/index.ts'
import { ended, make, passMaintenance } from '../backups/support.ts'
import { renewAdmin } from '../sessions/users.ts'
import { forgive } from '../support/accounts.ts'
import { CHROMIUM } from '../support/browser.ts'
import { builtConsole } from '../support/built-console.ts'
import { makeClinic, superadmin } from '../support/clinics.ts'
import { dataShown, inspectPage, LOOKS } from '../support/console-browser.ts'
import { pressOn, waitForFocus } from '../support/console-keys.ts'
import { openService, SUPERADMIN } from '../support/service.ts'
import { until } from '../support/until.ts'
import { browse, type ConsoleScene, isFocused, openAs } from './scene.ts'

const HOSTILE = `<img src=x onerror=alert(1)> \u05d0\u05d1\u05d2 ${'W'.repeat(120)}`

let scene: ConsoleScene

beforeAll(async () => {
  if (!CHROMIUM) return
  const service = await openService({
    consoleFolder: await builtConsole(),
    background: ['encryption', 'backups', 'jobs'],
  })
  const root = await superadmin(service)
  const clinic = await makeClinic(service, root, 'north')
  scene = await browse(service, root, clinic)
})

beforeEach(async () => {
  if (!CHROMIUM) return
  await forgive(scene.service)
  await renewAdmin(scene.service, scene.clinic)
  await scene.service.database.sql('delete from patients')
  for (const name of ['Paula Patient', 'Peter Patient'])
    await scene.service.call('POST', '/api/patients', {
      token: scene.clinic.people.admin.token,
      body: { full_name: name, department_id: null },
    })
})

const asRoot = (options = {}) =>
  openAs(scene, scene.root, { at: '/encryption', subdomain: 'platform', ...options })
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
const region = (page: Page, name: string) => page.getByRole('region', { name, exact: true })

describe.skipIf(!CHROMIUM)('a superadmin on the page of the encryption', () => {
  it('rotates the keys by keyboard, and sees that nothing is left on old keys', async () => {
    const { page, expectStatus } = await asRoot()
    // The access token has expired when the person acts.
    expectStatus(401, 403)
    await page.getByText('The keys have never been rotated.').waitFor()
    const before = await region(page, 'Current keys').innerText()
    scene.service.clock.advance(6 * MINUTE)
    await pressOn(page, button(page, 'Rotate keys'))
    await page.getByText('A rotation cannot be cancelled.').waitFor()
    await confirmRotation(page, 'Rotate keys')
    await page.getByText('The rotation has started.').waitFor()
    await isFocused(page.getByRole('heading', { level: 1 }))
    await region(page, 'Rotation').getByText('The rotation is over.').waitFor()
    const old = region(page, 'Old keys')
    await old.getByText('Nothing is left on old keys').waitFor()
    await old.getByText(/1 key-encryption key$/).waitFor()
    expect(await region(page, 'Current keys').innerText()).not.toBe(before)
    const row = region(page, 'History').getByRole('row').nth(1)
    await row.getByText('Completed').waitFor()
    expect(await row.innerText()).toContain(scene.root.email)
    const asked: string[] = []
    page.on('request', (request) => asked.push(new URL(request.url()).pathname))
    await page.reload()
    await region(page, 'Rotation').getByText('The rotation is over.').waitFor()
    await region(page, 'Old keys').getByText('Nothing is left on old keys').waitFor()
    const ofPage = asked.filter((path) => /^\/api\/admin\/(encryption|jobs)/.test(path))
    expect(ofPage.sort()).toEqual(['/api/admin/encryption/keys', '/api/admin/jobs'])
  })

  it('reads that a restored backup has brought old keys back, and that the keys need a rotation', async () => {
    const { service, root, clinic } = scene
    const { admin } = clinic.people
    const backup_id = await make(service, admin)
    await rotated()
    const body = { backup_id, confirm: true }
    const { token } = admin
    const { body: job } = await service.call('POST', '/api/admin/backup/restore', { token, body })
    await passMaintenance(service, job.job_id)
    expect(await ended(service, root, job.job_id)).toMatchObject({ status: 'completed' })
    const { page } = await asRoot()
    await region(page, 'Rotation')
      .getByText(/has brought old keys back/)
      .waitFor()
    await region(page, 'Old keys')
      .getByText(/records? on old keys/)
      .waitFor()
    await page.getByRole('link', { name: 'Overview', exact: true }).click()
    const needs = region(page, 'Needs attention')
    await needs.getByRole('link', { name: 'Open: Records use old keys again' }).click()
    await page.getByRole('heading', { level: 1, name: 'Encryption' }).waitFor()
  })

  it('sees the progress of a rotation that another person started, and what it waits for', async () => {
    const blocker = await openTransaction()
    const { page } = await asRoot()
    await dataShown(page)
    const { token } = scene.root
    await scene.service.call('POST', '/api/admin/encryption/rotate', { token, body: {} })
    await page.reload()
    await page.getByText('The rotation waits for a database connection to end').waitFor()
    await page
      .getByText(/an older transaction may still use the old keys: import of north/)
      .waitFor()
    expect(await button(page, 'Rotate keys').count()).toBe(0)
    await blocker.end()
    await region(page, 'Rotation').getByText('The rotation is over.').waitFor()
    await button(page, 'Rotate keys').waitFor()
  })

  it('can resume a rotation that failed, and reads why it failed', async () => {
    await failedRotation(HOSTILE)
    const { page, expectStatus } = await asRoot()
    expectStatus(403)
    await button(page, 'Resume rotation').waitFor()
    await region(page, 'Rotation').getByText('<img src=x').waitFor()
    for (const { theme, width } of LOOKS) {
      await page.emulateMedia({ colorScheme: theme })
      await page.setViewportSize({ width, height: 900 })
      await inspectPage(page, `encryption-${theme}-${width}`)
    }
    await button(page, 'Resume rotation').click()
    await page.getByText('Continues the rotation that failed.').waitFor()
    await inspectPage(page, 'encryption-dialog')
    await confirmRotation(page, 'Resume rotation')
    await region(page, 'Rotation').getByText('The rotation is over.').waitFor()
    await button(page, 'Rotate keys').waitFor()
  })
})

/** Confirms the rotation in the open dialog, by keyboard. */
async function confirmRotation(page: Page, title: string): Promise<void> {
  const dialog = page.getByRole('alertdialog', { name: title })
  await waitForFocus(page, dialog.getByLabel('Type rotate to confirm'))
  await page.keyboard.type('rotate')
  await page.keyboard.press('Enter')
  const password = dialog.getByLabel('Your password')
  await password.waitFor()
  await waitForFocus(page, password)
  await page.keyboard.type(SUPERADMIN.password)
  await page.keyboard.press('Enter')
}

/** Rotates the keys, and waits until the rotation is over. */
async function rotated(): Promise<void> {
  const { service, root } = scene
  const { token } = root
  await service.call('POST', '/api/admin/encryption/rotate', { token, body: {} })
  await until('the rotation is over', async () => {
    const { body } = await service.call('GET', '/api/admin/encryption/status', { token })
    return body.status === 'completed' || undefined
  })
}

/** Rotates the keys, and then records the rotation as failed. */
async function failedRotation(reason: string): Promise<void> {
  await rotated()
  await scene.service.database.sql(
    `update encryption_rotations set status = 'failed', reason = $1
     where number = (select max(number) from encryption_rotations)`,
    [reason],
  )
}

/** Opens a transaction that writes before a rotation starts, as an import does. */
async function openTransaction() {
  const client = ownerClient(scene.service.database.address)
  await client.connect()
  await client.query("set application_name = 'import of north'")
  await client.query('begin')
  await client.query('update tenants set name = name where id = $1', [scene.clinic.id])
  return client
}

describe.skipIf(!CHROMIUM)('the page of the encryption', () => {
  it('is not available to administrators of a clinic', async () => {
    const { page } = await openAs(scene, scene.clinic.people.admin, { at: '/encryption' })
    await page.getByText('Not available for your role').waitFor()
    expect(await page.getByRole('link', { name: 'Encryption' }).count()).toBe(0)
  })
})
