/** A restore in a real browser, from the choice of the backup to the result after the next sign-in. */
import type { Page } from 'playwright-core'
import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { SECOND } from '../../src/lib/clock.ts'
import { LOCKS, ownerClient } from '../../src/platform/db/index.ts'
import { ended, make, passMaintenance } from '../backups/support.ts'
import { newColleague, renewAdmin } from '../sessions/users.ts'
import { forgive } from '../support/accounts.ts'
import { CHROMIUM } from '../support/browser.ts'
import { builtConsole } from '../support/built-console.ts'
import { makeClinic, superadmin, type Person as User } from '../support/clinics.ts'
import { dataShown, inspectPage, LOOKS } from '../support/console-browser.ts'
import { OF_THIS_DATABASE } from '../support/database.ts'
import { openService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { browse, type ConsoleScene, isFocused, openAs, signInAgain } from './scene.ts'

let scene: ConsoleScene
let admin: User

beforeAll(async () => {
  if (!CHROMIUM) return
  const service = await openService({
    consoleFolder: await builtConsole(),
    background: ['backups', 'jobs'],
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
const parameter = (page: Page, name: string) => new URL(page.url()).searchParams.get(name)

/** Waits for a parameter of the page's URL. */
const parameterSet = (page: Page, name: string): Promise<string> =>
  until(`the URL to have ${name}`, async () => parameter(page, name) ?? undefined)

const nameOf = async ({ id }: User) =>
  (await scene.service.database.sql('select full_name from users where id = $1', [id]))[0]

/** Makes a backup of the clinic, renames a nurse afterwards, and blocks another user. */
async function changedSince() {
  const { service, clinic } = scene
  const [nurse, blocked] = [
    await newColleague(service, clinic, 'nurse'),
    await newColleague(service, clinic, 'doctor'),
  ]
  const before = await nameOf(nurse)
  const id = await make(service, admin)
  await service.database.sql(`update users set full_name = 'Since' where id = $1`, [nurse.id])
  const { token } = admin
  await service.call('POST', `/api/admin/users/${blocked.id}/block`, { token })
  return { id, nurse, blocked, before }
}

/**
 * Holds a restore in maintenance mode, because it waits to change the user's row. Returns the function that lets it
 * continue.
 */
async function holdRestore({ id }: User): Promise<() => Promise<void>> {
  const writer = ownerClient(scene.service.database.address)
  await writer.connect()
  onTestFinished(() => writer.end())
  await writer.query('begin')
  await writer.query('select from users where id = $1 for update', [id])
  return async () => {
    await writer.query('rollback')
  }
}

/** Requests the restore in the dialog. Returns the id of the job. */
async function restore(page: Page, user: User, name: string): Promise<string> {
  await button(page, 'Restore…').click()
  const dialog = page.getByRole('alertdialog', { name: `Restore ${name}` })
  await dialog.getByLabel(`Type ${name} to confirm`).fill(name)
  const submit = dialog.getByRole('button', { name: `Restore ${name}` })
  await submit.click()
  await dialog.getByLabel('Your password').fill(user.password)
  await submit.click()
  return parameterSet(page, 'job')
}

/** Waits until the service refuses the administrator because of the restore. */
const closed = ({ token }: User) =>
  until('maintenance mode', async () => {
    scene.service.clock.elapse(100)
    const { status } = await scene.service.call('GET', '/api/users/me', { token })
    return status === 503 || undefined
  })

const clinicName = async () =>
  (
    await scene.service.call('GET', `/api/admin/tenants/${scene.clinic.id}`, {
      token: admin.token,
    })
  ).body.name

describe.skipIf(!CHROMIUM)('an administrator who restores the clinic', () => {
  it('previews the changes, restores, reloads during maintenance, and sees the result after signing in', async () => {
    const { id, nurse, blocked, before } = await changedSince()
    const name = await clinicName()
    const { page, expectStatus } = await openAs(scene, admin, { at: `/backups?open=${id}` })
    expectStatus(401, 403, 503)
    await page.getByRole('link', { name: 'Restore…' }).click()
    await page.getByRole('heading', { name: 'Restore a backup', level: 1 }).waitFor()
    expect(parameter(page, 'backup')).toBe(id)
    await button(page, 'Preview the changes').click()
    await page.getByText('Nothing has been changed yet.').waitFor()
    const users = page.getByRole('row').filter({ has: page.getByText('Users', { exact: true }) })
    await users.waitFor()
    expect(await users.getByRole('cell').allInnerTexts()).toEqual(['0', '1', '0'])
    const kept = page.getByRole('listitem').filter({ hasText: 'stays blocked' })
    const [{ full_name } = {}] = [await nameOf(blocked)]
    await kept.getByText(String(full_name)).waitFor()
    await page.reload()
    await kept.waitFor()

    const release = await holdRestore(nurse)
    const job = await restore(page, admin, name)
    await closed(admin)
    await page.getByText('Replacing the data in maintenance mode').waitFor()
    await page.reload()
    await page.getByRole('heading', { name: 'A backup is being restored' }).waitFor()
    await release()
    await passMaintenance(scene.service, job)
    await button(page, 'Sign in').waitFor()
    await page.getByText('A backup was being restored a moment ago').waitFor()
    await signInAgain(page, admin, scene.clinic.subdomain)
    await page.getByText('Restored', { exact: true }).waitFor()
    await page.getByText(/^The data is as in the backup, except/).waitFor()
    await kept.getByText(String(full_name)).waitFor()
    expect(parameter(page, 'job')).toBe(job)
    expect(await nameOf(nurse)).toEqual(before)
    await page.getByRole('link', { name: 'Show the safety backup' }).click()
    const safety = page.getByRole('complementary', { name: /^Backup of/ })
    await safety.getByText('Before a restore').waitFor()
  })

  it('stays on the page without a reload, and another administrator sees the restore', async () => {
    const { id, nurse } = await changedSince()
    const name = await clinicName()
    const other = await newColleague(scene.service, scene.clinic, 'admin')
    const tab = await openAs(scene, admin, { at: `/backups/restore?backup=${id}` })
    const second = await openAs(scene, other, { at: '/audit' })
    for (const one of [tab, second]) one.expectStatus(401, 403, 503)
    await button(tab.page, 'Preview the changes').click()
    await button(tab.page, 'Restore…').waitFor()
    const release = await holdRestore(nurse)
    const job = await restore(tab.page, admin, name)
    await closed(admin)
    await tab.page.getByText('Replacing the data in maintenance mode').waitFor()
    await second.page.getByRole('link', { name: 'Backups' }).click()
    await second.page.getByText('A restore is running').waitFor()
    await second.page.getByText(`Started by ${admin.email}.`).waitFor()
    await release()
    await passMaintenance(scene.service, job)
    await button(tab.page, 'Sign in').waitFor()
    for (const one of [tab, second])
      await one.page.getByText('which may have ended your session. Sign in again.').waitFor()
    await signInAgain(tab.page, admin, scene.clinic.subdomain)
    await tab.page.getByText('Restored', { exact: true }).waitFor()
  })

  it('sees that nothing was changed if the restore fails', async () => {
    const { id, nurse } = await changedSince()
    const name = await clinicName()
    const { page, expectStatus } = await openAs(scene, admin, {
      at: `/backups/restore?backup=${id}`,
    })
    expectStatus(403, 503)
    await button(page, 'Preview the changes').click()
    await button(page, 'Restore…').waitFor()
    const release = await holdRestore(nurse)
    const job = await restore(page, admin, name)
    await closed(admin)
    await scene.service.database.sql(
      `select pg_terminate_backend(pid) from pg_locks
       where locktype = 'advisory' and classid = $1 and ${OF_THIS_DATABASE}`,
      [LOCKS.maintenance],
    )
    await release()
    await passMaintenance(scene.service, job)
    await page.getByText('Not restored', { exact: true }).waitFor()
    await page.getByText('Nothing was changed.').waitFor()
    expect(await nameOf(nurse)).toEqual({ full_name: 'Since' })
  })
})

/** Restores as a dry run through the API. Returns the path of the page that shows the result. */
async function previewed(): Promise<string> {
  const { service } = scene
  const { token } = admin
  const backup = await make(service, admin)
  const body = { backup_id: backup, dry_run: true }
  const started = await service.call('POST', '/api/admin/backup/restore', { token, body })
  await ended(service, admin, started.body.job_id)
  return `/backups/restore?backup=${backup}&preview=${started.body.job_id}`
}

describe.skipIf(!CHROMIUM)('the preview of a restore', () => {
  it('loads with two requests', async () => {
    const { page } = await openAs(scene, admin, { at: await previewed() })
    await button(page, 'Restore…').waitFor()
    const asked: string[] = []
    page.on('request', (request) => {
      const path = new URL(request.url()).pathname
      if (/^\/api\/admin\/(backup|jobs)/.test(path)) asked.push(path.split('/').slice(3).join('/'))
    })
    await page.reload()
    await button(page, 'Restore…').waitFor()
    await dataShown(page)
    expect(asked.sort()).toEqual(['backup/list', `jobs/${parameter(page, 'preview')}`])
  })

  it('can be cancelled and started again, and another scope needs another preview', async () => {
    const { service, clinic, root } = scene
    const id = await make(service, root)
    const { page } = await openAs(scene, root, {
      at: `/t/${clinic.id}/backups/restore`,
      subdomain: 'platform',
    })
    await page.getByRole('rowheader').first().getByRole('link').click()
    await parameterSet(page, 'backup')
    await page.goto(`/console/t/${clinic.id}/backups/restore?backup=${id}`)
    await page.getByText('To restore another clinic, choose it in the top bar first.').waitFor()
    await page.getByRole('radio', { name: 'All clinics' }).check()
    expect(await parameterSet(page, 'scope')).toBe('all')
    const other = ownerClient(service.database.address)
    await other.connect()
    onTestFinished(() => other.end())
    await other.query('begin; lock table recovery_codes in access exclusive mode')
    const title = page.getByRole('heading', { level: 1 })
    await button(page, 'Preview the changes').click()
    await button(page, 'Cancel the job').waitFor()
    await isFocused(title)
    await button(page, 'Cancel the job').click()
    await until('the preview to be cancelled', async () => {
      service.clock.elapse(SECOND)
      return (await button(page, 'Preview again').count()) > 0 || undefined
    })
    await isFocused(title)
    await other.query('rollback')
    const cancelled = parameter(page, 'preview')
    await button(page, 'Preview again').click()
    await button(page, 'Restore…').waitFor()
    const first = await parameterSet(page, 'preview')
    expect(first).not.toBe(cancelled)
    await page.getByRole('radio', { name: /^Only/ }).check()
    await button(page, 'Preview the changes').waitFor()
    expect(parameter(page, 'preview')).toBeNull()
    expect(parameter(page, 'scope')).toBe('clinic')
    await button(page, 'Preview the changes').click()
    await button(page, 'Restore…').waitFor()
    expect(await parameterSet(page, 'preview')).not.toBe(first)
  })
})

describe.skipIf(!CHROMIUM).each(LOOKS)('in the $theme theme at $width px', ({ theme, width }) => {
  it('the steps of a restore are accessible and fit the window', async () => {
    const { id } = await changedSince()
    const { page } = await openAs(scene, admin, {
      at: '/backups/restore',
      colorScheme: theme,
      viewport: { width, height: 800 },
    })
    await page.getByRole('rowheader').first().waitFor()
    await inspectPage(page, `restore-choose-${theme}-${width}`)
    await page.goto(`/console/backups/restore?backup=${id}`)
    await button(page, 'Preview the changes').click()
    await button(page, 'Restore…').waitFor()
    await inspectPage(page, `restore-preview-${theme}-${width}`)
    await button(page, 'Restore…').click()
    await page.getByRole('alertdialog').waitFor()
    await inspectPage(page, `restore-confirm-${theme}-${width}`)
  })
})
