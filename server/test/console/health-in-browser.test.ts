/** The page of the service's health in a real browser. */
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { renewAdmin } from '../sessions/users.ts'
import { CHROMIUM } from '../support/browser.ts'
import { dataShown, inspectPage, LOOKS } from '../support/console-browser.ts'
import { type ConsoleScene, openAs, openConsole } from './scene.ts'

let scene: ConsoleScene

beforeAll(async () => {
  if (CHROMIUM) scene = await openConsole()
})

beforeEach(async () => {
  if (CHROMIUM) await renewAdmin(scene.service, scene.clinic)
})

const HOSTILE = `<img src=x onerror=alert(1)> \u05d0\u05d1\u05d2 ${'W'.repeat(150)}`

/** A report in which parts of the service are not well. */
const DEGRADED = [
  { name: 'backups', state: 'degraded', reason: HOSTILE, since: null, runbook: 'backups.md' },
  {
    name: 'journal',
    state: 'down',
    reason: 'A reader of the journal has stopped.',
    since: '2026-11-20T10:00:00.000Z',
    runbook: null,
  },
]

describe.skipIf(!CHROMIUM)('the page of the health', () => {
  it('names every part of the service with its work', async () => {
    const { page } = await openAs(scene, scene.clinic.people.admin, { at: '/health' })
    await dataShown(page)
    const { token } = scene.clinic.people.admin
    const { body } = await scene.service.call('GET', '/api/admin/health', { token })
    const parts = page.getByRole('region', { name: 'Parts of the service' })
    expect(await parts.getByRole('listitem').count()).toBe(body.components.length)
    for (const item of await parts.getByRole('listitem').all())
      expect((await item.innerText()).split('\n').length).toBeGreaterThan(2)
    await page.getByText(body.version, { exact: true }).waitFor()
    // A part that works may still have done nothing yet.
    await parts.getByText('No backups are scheduled.').waitFor()
    await parts.getByText('No audit log has been verified yet.').waitFor()
  })

  it('is not available to other roles than administrators', async () => {
    const { page } = await openAs(scene, scene.clinic.people.auditor, { at: '/health' })
    await page.getByText('Not available for your role').waitFor()
  })
})

describe.skipIf(!CHROMIUM).each(LOOKS)(
  'in the $theme theme at a width of $width px',
  ({ theme, width }) => {
    it('the page of the health explains what is wrong, since when, and what to do', async () => {
      const { page } = await openAs(scene, scene.clinic.people.admin, {
        at: '/account',
        colorScheme: theme,
        viewport: { width, height: 900 },
      })
      await page.route('**/api/admin/health', async (route) => {
        const answer = await route.fetch()
        const body = await answer.json()
        const others = body.components.filter(
          ({ name }: { name: string }) => name !== 'backups' && name !== 'journal',
        )
        await route.fulfill({ json: { ...body, components: [...others, ...DEGRADED] } })
      })
      await page.goto('/console/health')
      await page.getByText('2 parts need attention').waitFor()
      const items = await page.getByRole('listitem').filter({ hasText: 'Why' }).allInnerTexts()
      expect(items).toHaveLength(2)
      expect(items[0]).toContain('docs/runbooks/backups.md')
      expect(items[1]).toContain('A reader of the journal has stopped.')
      expect(items[1]).toContain('20 Nov 2026')
      await inspectPage(page, `health-${theme}-${width}`)
    })
  },
)
