/** Self-healing in a real browser: findings, the repair that a person confirms, and scans. */
import type { Page } from 'playwright-core'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { renewAdmin } from '../sessions/users.ts'
import { CHROMIUM } from '../support/browser.ts'
import { dataShown, inspectPage, LOOKS } from '../support/console-browser.ts'
import { pressOn } from '../support/console-keys.ts'
import { type ConsoleScene, isFocused, MALFORMED, openAs, openConsole } from './scene.ts'

const HOSTILE = `<img src=x onerror=alert(1)> \u05d0\u05d1\u05d2 =1+1 ${'W'.repeat(120)}`
const TITLE = 'A department has a head who is not eligible'

let scene: ConsoleScene

const sql = (text: string, values?: unknown[]) =>
  scene.service.database.sql<{ id: number; head_doctor_id: number | null }>(text, values)

beforeAll(async () => {
  if (CHROMIUM) scene = await openConsole()
})

beforeEach(async () => {
  if (!CHROMIUM) return
  await renewAdmin(scene.service, scene.clinic)
  await sql('update departments set head_doctor_id = $1 where id = $2', [
    scene.clinic.people.nurse.id,
    scene.clinic.departmentId,
  ])
})

const asRoot = (at = '/self-healing', options = {}) =>
  openAs(scene, scene.root, {
    at: `/t/${scene.clinic.id}${at}`,
    subdomain: 'platform',
    ...options,
  })
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
const panel = (page: Page) => page.getByRole('complementary')
const headOf = async () =>
  (
    await sql('select id, head_doctor_id from departments where id = $1', [
      scene.clinic.departmentId,
    ])
  )[0]?.head_doctor_id

describe.skipIf(!CHROMIUM)('a superadmin on the page of self-healing', () => {
  it('scans, reads the evidence of a finding, and confirms its repair, by keyboard', async () => {
    const { page } = await asRoot()
    await page.getByRole('heading', { name: 'No open faults' }).waitFor()
    await pressOn(page, button(page, 'Scan now'))
    await page.getByText('The scan is over.').waitFor()
    expect(await page.getByText(/^Last scan:/).innerText()).toContain('Last scan: just now')
    const inNavigation = page.getByRole('link', {
      name: /^Self-healing.*1 fault needs a decision$/,
    })
    await inNavigation.waitFor()
    const link = page.getByRole('rowheader').getByRole('link', { name: TITLE })
    await pressOn(page, link)
    await panel(page)
      .getByText(/^Removes the head doctor from the department\./)
      .waitFor()
    const evidence = panel(page).getByRole('table').first()
    expect(await evidence.innerText()).toContain(`department ${scene.clinic.departmentId}`)
    expect(await evidence.innerText()).toContain('Clinic north')
    expect(await evidence.innerText()).toContain('nurse')
    expect(await evidence.innerText()).toContain(
      `Surgery (department ${scene.clinic.departmentId})`,
    )
    expect(await evidence.innerText()).toMatch(/head doctor\s+nurse of north\s+no requirement/)
    await pressOn(page, button(page, 'Confirm repair'))
    const dialog = page.getByRole('alertdialog', { name: 'Confirm repair' })
    await dialog.getByText('Now there is 1 finding').waitFor()
    expect(await headOf()).toBe(scene.clinic.people.nurse.id)
    await isFocused(dialog.getByRole('button', { name: 'Cancel' }))
    await pressOn(page, dialog.getByRole('button', { name: 'Confirm repair' }))
    await page.getByText('Repaired. The check found nothing afterwards.').waitFor()
    await isFocused(panel(page).getByRole('heading', { level: 2 }))
    expect(await headOf()).toBeNull()
    await inNavigation.waitFor({ state: 'detached' })
    await panel(page)
      .getByText(/Confirmed by (?!a person)\S.*\. 1 repaired$/)
      .waitFor()
    await panel(page).getByText('There are no findings.').waitFor()
    await page.getByText(`No check has open findings. Last repair: ${TITLE}, just now.`).waitFor()
    const history = page.getByRole('link', { name: 'Repairs in this clinic' })
    expect(await history.getAttribute('href')).toContain('/audit?group=')
    await history.click()
    await page
      .getByRole('table', { name: /^Audit log/ })
      .getByText(/repair/i)
      .first()
      .waitFor()
  })

  it('follows the scan that another person started, even after a reload', async () => {
    const [first, second] = [await asRoot(), await asRoot()]
    await button(first.page, 'Scan now').waitFor()
    await button(second.page, 'Scan now').waitFor()
    await Promise.all([
      button(first.page, 'Scan now').click(),
      button(second.page, 'Scan now').click(),
    ])
    for (const { page } of [first, second]) await page.getByText('The scan is over.').waitFor()
    await first.page.reload()
    await first.page.getByText('The scan is over.').waitFor()
    await button(first.page, 'Hide').click()
    await first.page.getByText('The scan is over.').waitFor({ state: 'detached' })
    expect(new URL(first.page.url()).search).toBe('')
  })

  it('takes a check out and brings it back', async () => {
    const { page } = await asRoot('/self-healing?show=all')
    await page.getByRole('rowheader').getByRole('link', { name: TITLE }).click()
    await button(page, 'Take out').click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Take out check' }).click()
    await page.getByText('Taken out.').waitFor()
    await page.getByRole('link', { name: TITLE }).waitFor({ state: 'detached' })
    await button(page, 'Restore checks').click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Restore checks' }).click()
    await page.getByText('Restored 1 check.').waitFor()
    await page.getByRole('rowheader').getByRole('link', { name: TITLE }).waitFor()
  })

  it('keeps the filters in the URL, and can use URLs with malformed parameters', async () => {
    const { page } = await asRoot('/self-healing?show=all')
    await page.getByRole('rowheader').first().waitFor()
    const all = await page.getByRole('rowheader').count()
    expect(all).toBe(scene.service.app.fixes.length)
    await page.getByLabel('Severity', { exact: true }).selectOption('critical')
    await expect.poll(() => page.getByRole('rowheader').count()).toBeLessThan(all)
    const parameters = new URL(page.url()).searchParams
    expect(Object.fromEntries(parameters)).toEqual({ show: 'all', severity: 'critical' })
    for (const malformed of [...MALFORMED, 'scan=nothing&show=some&severity=9']) {
      await page.goto(`/console/t/${scene.clinic.id}/self-healing?${malformed}`)
      await page.getByRole('table', { name: 'Self-healing' }).waitFor()
    }
  })
})

describe.skipIf(!CHROMIUM)('an administrator on the page of self-healing', () => {
  it('sees the findings of the own clinic, and no actions', async () => {
    await scene.service.app.features.selfHealing.scan()
    const { page } = await openAs(scene, scene.clinic.people.admin, { at: '/self-healing' })
    await page.getByRole('rowheader').getByRole('link', { name: TITLE }).click()
    await panel(page)
      .getByText(/^Removes the head doctor from the department\./)
      .waitFor()
    for (const act of ['Scan now', 'Restore checks', 'Confirm repair', 'Take out'])
      expect(await button(page, act).count()).toBe(0)
    const { auditor } = scene.clinic.people
    const other = await openAs(scene, auditor, { at: '/self-healing' })
    await other.page.getByText('Not available for your role').waitFor()
  })
})

describe.skipIf(!CHROMIUM).each(LOOKS)(
  'in the $theme theme at a width of $width px',
  ({ theme, width }) => {
    it('the page of self-healing is accessible and fits the window, even with hostile evidence', async () => {
      await scene.service.app.features.selfHealing.scan()
      await sql('update self_healing_findings set subject = $1, measured = $2', [
        HOSTILE,
        JSON.stringify({ role: HOSTILE, is_active: false }),
      ])
      await sql("update self_healing_fixes set reason = $1 where status = 'proposed'", [HOSTILE])
      const looks = { colorScheme: theme, viewport: { width, height: 900 } } as const
      const { page } = await asRoot('/self-healing', looks)
      await button(page, 'Scan now').waitFor()
      await page.getByRole('rowheader').first().waitFor()
      await dataShown(page)
      await inspectPage(page, `healing-${theme}-${width}`)
      await page.getByRole('rowheader').getByRole('link', { name: TITLE }).click()
      await panel(page).getByRole('table').first().waitFor()
      await inspectPage(page, `healing-panel-${theme}-${width}`)
      await button(page, 'Confirm repair').click()
      await page.getByRole('alertdialog').waitFor()
      await inspectPage(page, `healing-dialog-${theme}-${width}`)
    })
  },
)
