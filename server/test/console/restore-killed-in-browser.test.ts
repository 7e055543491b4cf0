/** Kills the process of a restore with SIGKILL. The page then says that nothing was changed. */
import { beforeAll, describe, expect, it } from 'vitest'
import { fatten } from '../backups/support.ts'
import { CHROMIUM } from '../support/browser.ts'
import { builtConsole } from '../support/built-console.ts'
import { makeClinic, superadmin } from '../support/clinics.ts'
import { migratedDatabase, type TestDatabase } from '../support/database.ts'
import { type DatabaseProxy, proxyTo } from '../support/database-proxy.ts'
import { PLAIN, startService } from '../support/process.ts'
import { scratch } from '../support/scratch.ts'
import { openService, ROOT_KEY } from '../support/service.ts'
import { browse, type ConsoleScene, openAs } from './scene.ts'

let database: TestDatabase
let proxy: DatabaseProxy
let folder: string
let scene: ConsoleScene
let backup: string

beforeAll(async () => {
  if (!CHROMIUM) return
  database = await migratedDatabase()
  folder = await scratch()
  const consoleFolder = await builtConsole()
  const api = await openService({ database, consoleFolder, config: { BACKUP_DIR: folder } })
  const root = await superadmin(api)
  const clinic = await makeClinic(api, root, 'north')
  await fatten(database, clinic.id)
  backup = (await api.app.features.backups.commands.create(null, () => undefined)).backup_id
  proxy = await proxyTo(database)
  scene = await browse(api, root, clinic)
})

/** Starts a process that runs jobs. The test can pause its database connection. */
const startWorker = async () =>
  startService({
    ...PLAIN,
    DATABASE_URL: proxy.url,
    ENCRYPTION_KEY: ROOT_KEY.toString('base64'),
    DATA_DIR: await scratch(),
    BACKUP_DIR: folder,
    LOG_LEVEL: 'error',
  })

describe.skipIf(!CHROMIUM)('a superadmin whose restore is killed in maintenance mode', () => {
  it('sees that the restore failed and that nothing was changed', async () => {
    const { clinic, root } = scene
    const worker = await startWorker()
    const nurse = clinic.people.nurse.id
    const rename = `update users set full_name = 'Since' where id = $1 returning full_name`
    await database.sql(rename, [nurse])
    const { page, expectStatus } = await openAs(scene, root, {
      at: `/t/${clinic.id}/backups/restore?backup=${backup}&scope=all`,
      subdomain: 'platform',
    })
    expectStatus(403, 503)
    const button = (name: string) => page.getByRole('button', { name, exact: true })
    await button('Preview the changes').click()
    await button('Restore…').click()
    const held = proxy.holdAnswerOf('from "users") to stdout')
    const dialog = page.getByRole('alertdialog', { name: 'Restore all clinics' })
    await dialog.getByLabel('Type all clinics to confirm').fill('all clinics')
    const submit = dialog.getByRole('button', { name: 'Restore all clinics' })
    await submit.click()
    await dialog.getByLabel('Your password').fill(root.password)
    await submit.click()
    await held.asked
    await expect.poll(() => new URL(page.url()).searchParams.get('job')).not.toBeNull()
    worker.signal('SIGKILL')
    await worker.ended
    held.release()
    await startWorker()
    await page.getByText('Not restored', { exact: true }).waitFor()
    await page.getByText('Nothing was changed.').waitFor()
    await page.getByText(/The process ended before the job was completed/).waitFor()
    const rows = await database.sql('select full_name from users where id = $1', [nurse])
    expect(rows).toEqual([{ full_name: 'Since' }])
  })
})
