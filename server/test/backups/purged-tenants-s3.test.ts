/**
 * Purges with an S3 bucket. A restore of a downloaded file applies the purge notes of the bucket too, and object locks
 * delay the rewriting of files.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parseS3Url } from '../../src/config/s3-url.ts'
import { erasePurged } from '../../src/features/backups/erase/erase.ts'
import { DAY } from '../../src/lib/clock.ts'
import { runCommand } from '../docs/command.ts'
import { makeClinic, superadmin } from '../support/clinics.ts'
import { emptyDatabase } from '../support/database.ts'
import { openS3 } from '../support/s3.ts'
import { scratch } from '../support/scratch.ts'
import { silentLog } from '../support/server-address.ts'
import { openService, ROOT_KEY } from '../support/service.ts'
import { storeOf } from './stores.ts'
import { backupKeys, make, purgeClinic, tablesWith } from './support.ts'

/** Opens a service on a bucket, with a full backup made before a clinic was purged. */
async function purged(more: { BACKUP_S3_LOCK_DAYS?: number } = {}) {
  const server = await openS3()
  const { location, credentials } = parseS3Url(server.url)
  if (!credentials) throw new Error('no credentials')
  const config = { BACKUP_S3_URL: { location, credentials }, ...more }
  const service = await openService({ background: ['backups', 'jobs'], config })
  const root = await superadmin(service)
  const north = await makeClinic(service, root, 'north')
  const id = await make(service, root)
  await purgeClinic(service, north.id)
  const store = storeOf(server)
  const deps = { db: service.app.db, store, backupKeys: await backupKeys(), log: silentLog }
  await erasePurged(deps, new AbortController().signal)
  return { server, service, north, id, store }
}

test('a restore of a downloaded file requires the bucket, and leaves out tenants with a purge note there', async () => {
  const { server, north, id, store } = await purged()
  const file = join(await scratch(), 'fetched.age')
  await writeFile(file, store.read(`${id}.tar.zst.age`))
  const database = await emptyDatabase()
  const restore = async () =>
    runCommand(['backup', 'restore', file, '--json'], {
      DATABASE_URL: database.url,
      ENCRYPTION_KEY: ROOT_KEY.toString('base64'),
      DATA_DIR: await scratch(),
      BACKUP_S3_URL: server.url,
    })
  server.breakWith(() => ({ status: 403, code: 'AccessDenied' }))
  const refused = await restore()
  expect(refused).toMatchObject({ code: 1, stdout: '' })
  expect(refused.stderr).toMatch(
    /^Nothing was restored: the backup store .* AccessDenied.* lists the purged tenants/,
  )
  expect(refused.stderr.trim()).not.toContain('\n')
  server.breakWith(() => undefined)
  const ended = await restore()
  expect(ended.code, ended.stderr).toBe(0)
  expect(JSON.parse(ended.stdout)).toMatchObject({ backup_id: id, purged: [north.id] })
  expect(await tablesWith(database, north.id)).toEqual([])
})

test('a locked backup is rewritten, and the old file is reported as still stored until its lock ends', async () => {
  const { server, service, north, id, store } = await purged({ BACKUP_S3_LOCK_DAYS: 5 })
  const { commands } = service.app.features.backups
  const forget = () => commands.forgetTenant(north.id, () => undefined)
  const files = async () =>
    (await store.list()).map(({ name }) => name).filter((name) => name.endsWith('.age'))
  const { left } = await forget()
  expect(left).toEqual([
    { backup_id: id, reason: expect.stringContaining('the store keeps the previous file') },
  ])
  expect(await files()).toHaveLength(2)
  expect(await commands.verify(id, () => undefined)).toMatchObject({ backup_id: id })
  // A second run reports the locked file again, and writes no file.
  expect((await forget()).left).toHaveLength(1)
  expect(await files()).toHaveLength(2)
  service.clock.advance(6 * DAY)
  server.now += 6 * DAY
  expect(await forget()).toMatchObject({ rewritten: [], earlier: [id], left: [] })
  expect(await files()).toEqual([expect.stringMatching(`^${id}[.]\\d+[.]tar`)])
  expect(server.hidden).toEqual([])
})
