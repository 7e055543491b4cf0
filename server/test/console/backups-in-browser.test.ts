/** The list of backups in a real browser: back up, test, download and delete. */
import { readFile } from 'node:fs/promises'
import type { Locator, Page } from 'playwright-core'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { fileOf, make } from '../backups/support.ts'
import { renewAdmin } from '../sessions/users.ts'
import { forgive } from '../support/accounts.ts'
import { CHROMIUM } from '../support/browser.ts'
import { builtConsole } from '../support/built-console.ts'
import { makeClinic, superadmin, type Person as User } from '../support/clinics.ts'
import { inspectPage, LOOKS } from '../support/console-browser.ts'
import { openService } from '../support/service.ts'
import { browse, type ConsoleScene, MALFORMED, openAs } from './scene.ts'

const HOSTILE = `<img src=x onerror=alert(1)> \u05d0\u05d1\u05d2 ${'W'.repeat(150)}`

let scene: ConsoleScene
let admin: User

beforeAll(async () => {
  if (!CHROMIUM) return
  const background = ['backups'] as const
  const service = await openService({
    consoleFolder: await builtConsole(),
    background: [...background],
  })
  const root = await superadmin(service)
  scene = await browse(service, root, await makeClinic(service, root, 'north'))
})

beforeEach(async () => {
  if (!CHROMIUM) return
  await forgive(scene.service)
  await renewAdmin(scene.service, scene.clinic)
  admin = scene.clinic.people.admin
})

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })

/** Confirms a final act with the password of the person. */
async function confirm(dialog: Locator, { password }: User, act: string): Promise<void> {
  const submit = dialog.getByRole('button', { name: act, exact: true })
  await submit.click()
  await dialog.getByLabel('Your password').fill(password)
  await submit.click()
}

const asRoot = (at: string) =>
  openAs(scene, scene.root, { at: `/t/${scene.clinic.id}${at}`, subdomain: 'platform' })

describe.skipIf(!CHROMIUM)('an administrator of backups', () => {
  it('backs up the clinic, and sees the progress also after a reload', async () => {
    const { page } = await openAs(scene, admin, { at: '/backups' })
    await page.getByRole('heading', { name: 'No backups of this clinic alone yet' }).waitFor()
    await button(page, 'Back up now').click()
    await page.getByText('The backup is complete.').waitFor()
    expect(new URL(page.url()).searchParams.get('job')).toMatch(/^[0-9a-f-]{36}$/)
    await page.reload()
    await page.getByText('The backup is complete.').waitFor()
    await page.getByText(/is the last verified backup/).waitFor()
    await button(page, 'Hide').click()
    await page.getByText('1–1 of 1').waitFor()
  })

  it('downloads a backup after entering the password, and the browser saves the file', async () => {
    const id = await make(scene.service, admin)
    const { page, expectStatus } = await openAs(scene, admin, { at: `/backups?open=${id}` })
    expectStatus(403)
    await button(page, 'Download').click()
    const started = page.waitForEvent('download')
    await confirm(page.getByRole('alertdialog'), admin, 'Download backup')
    const download = await started
    expect(download.suggestedFilename()).toBe(`${id}.tar.zst.age`)
    const saved = await readFile(await download.path())
    expect(saved.equals(await readFile(fileOf(scene.service, id)))).toBe(true)
    await page.getByText('The browser is downloading the backup.').waitFor()
    expect(await page.content()).not.toContain('/api/admin/downloads/')
  })

  it('deletes a backup after typing its id and the password', async () => {
    const id = await make(scene.service, admin)
    const { page, expectStatus } = await openAs(scene, admin, { at: `/backups?open=${id}` })
    expectStatus(403)
    await button(page, 'Delete').click()
    const dialog = page.getByRole('alertdialog', { name: 'Delete backup' })
    await dialog.getByText('This is the last proven backup.').waitFor()
    await dialog.getByLabel(`Type ${id.slice(0, 8)} to confirm`).fill(id.slice(0, 8))
    await confirm(dialog, admin, 'Delete backup')
    await page.getByText('Deleted the backup.').waitFor()
    await page.getByRole('complementary', { name: 'Backup not found' }).waitFor()
    const { body } = await scene.service.call('GET', '/api/admin/backup/list', {
      token: admin.token,
    })
    expect(JSON.stringify(body)).not.toContain(id)
  })

  it('sees no full backup, and ignores malformed URL parameters', async () => {
    const full = await make(scene.service, scene.root)
    const { page } = await openAs(scene, admin, { at: `/backups?open=${full}` })
    await page.getByRole('complementary', { name: 'Backup not found' }).waitFor()
    for (const parameters of MALFORMED) {
      await page.goto(`/console/backups?${parameters}`)
      await page.getByRole('table', { name: /^Backups/ }).waitFor()
    }
  })
})

describe.skipIf(!CHROMIUM)('a superadmin', () => {
  it('backs up all clinics, tests the backup, and then sees that it is proven', async () => {
    const { page } = await asRoot('/backups')
    await button(page, 'Back up now').click()
    await page.getByRole('menuitem', { name: 'Back up all clinics' }).click()
    await page.getByText('The backup is complete.').waitFor()
    const row = page.getByRole('row').filter({ hasText: 'All clinics' }).first()
    await row.getByRole('link').click()
    await button(page, 'Test now').click()
    await page.getByText('The test restored the backup completely.').waitFor()
    await page
      .getByText(
        /is the last proven backup\. It contains this clinic\. A test restored it .* in \d+ s\./,
      )
      .waitFor()
    await row.getByText('Tested').waitFor()
    const panel = page.getByRole('complementary', { name: /^Backup of/ })
    await panel.getByText(/^Restored in a test in \d+ s$/).waitFor()
    await panel.getByText(/^just now, requested by /).waitFor()
    await panel.getByText(/^[\d,]+ records$/).waitFor()
    const own = await openAs(scene, admin, { at: '/backups' })
    await own.page.getByText(/^Backup of all clinics of .* It contains this clinic\./).waitFor()
  })
})

describe.skipIf(!CHROMIUM).each(LOOKS)('in the $theme theme at $width px', ({ theme, width }) => {
  it('the page of backups is accessible and fits the window, even with a hostile clinic', async () => {
    const { token } = scene.root
    await scene.service.call('PUT', `/api/admin/tenants/${scene.clinic.id}`, {
      token,
      body: { name: HOSTILE },
    })
    const id = await make(scene.service, admin)
    await make(scene.service, scene.root)
    const { page } = await openAs(scene, scene.root, {
      at: `/t/${scene.clinic.id}/backups`,
      subdomain: 'platform',
      colorScheme: theme,
      viewport: { width, height: 800 },
    })
    await page.getByRole('rowheader').first().waitFor()
    await inspectPage(page, `backups-${theme}-${width}`)
    await page.goto(`/console/t/${scene.clinic.id}/backups?open=${id}`)
    await button(page, 'Download').waitFor()
    await inspectPage(page, `backups-open-${theme}-${width}`)
  })
})
