/** The verification of the audit log in a real browser: its state, "Verify now", and proofs of entries. */
import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { CHROMIUM } from '../support/browser.ts'
import { inspectPage } from '../support/console-browser.ts'
import { sealAll } from '../support/sealing.ts'
import { type ConsoleScene, openAs, openConsole } from './scene.ts'

let scene: ConsoleScene

beforeAll(async () => {
  if (CHROMIUM) scene = await openConsole({ background: ['jobs'] })
})

const openAudit = () => openAs(scene, scene.clinic.people.auditor, { at: '/audit?range=all' })
const state = (page: Page) => page.locator('details').filter({ hasText: 'State of the audit log' })

describe.skipIf(!CHROMIUM)('the audit log page', () => {
  it('saves the proof of an entry as soon as the entry is sealed', async () => {
    const { page, expectStatus } = await openAudit()
    await page.getByRole('table').getByRole('link').first().click()
    const panel = page.getByRole('complementary')
    const button = panel.getByRole('button', { name: 'Download proof' })
    expectStatus(409)
    await button.click()
    await panel.getByText('This entry is only a few seconds old.').waitFor()
    await sealAll(scene.service)
    const saved = page.waitForEvent('download')
    await button.click()
    const file = await saved
    expect(file.suggestedFilename()).toMatch(/^audit-proof-\d+\.txt$/)
    expect(await readFile(await file.path(), 'utf8')).toContain('c2sp.org/tlog-proof@v1\nindex ')
  })

  it('says up to which entry the log is whole, and later what was altered', async () => {
    await sealAll(scene.service)
    const { page } = await openAudit()
    await page.getByText('State of the audit log').click()
    await state(page).getByText('Not verified yet').waitFor()
    await state(page).getByRole('button', { name: 'Verify now' }).click()
    await state(page)
      .getByText(/^Whole up to entry \d+$/)
      .waitFor()
    await inspectPage(page, 'audit-verified')
    await scene.service.database.sql(
      `do $$ begin set local session_replication_role = replica;
         update journal set ip = '203.0.113.5' where id =
           (select min(entry_id) from audit_leaves where tenant_id = ${scene.clinic.id}); end $$`,
    )
    await state(page).getByRole('button', { name: 'Verify now' }).click()
    await state(page).getByText('Altered: 1 finding').waitFor()
    await page.emulateMedia({ colorScheme: 'dark' })
    await page.setViewportSize({ width: 320, height: 800 })
    await inspectPage(page, 'audit-altered')
    await state(page).getByRole('link', { name: 'Show the findings' }).click()
    await page.getByText('The verification found that the audit log was altered').first().waitFor()
  })
})
