/** `wardkeep backup list` prints all backups, including the failed ones with the reasons. */
import { randomUUID } from 'node:crypto'
import { beforeAll, expect, test } from 'vitest'
import { insertJob } from '../../src/features/backups/backups.store.ts'
import { folderStore } from '../../src/features/backups/stores/folder.ts'
import { NoRoomError } from '../../src/features/backups/stores/store.ts'
import { SYSTEM } from '../../src/platform/journal/index.ts'
import { type ByCommand, openByCommand } from './command-scene.ts'
import { alter } from './support.ts'
import { has, workOn } from './worker-scene.ts'

let at: ByCommand

beforeAll(async () => {
  at = await openByCommand()
  return at.close
})

const listed = async () => JSON.parse((await at.run(['list', '--json'])).stdout)
const inWords = async (id: string) =>
  (await at.run(['list'])).stdout.split('\n').find((line) => line.startsWith(id))

test('backup list prints the backups, for people and as JSON', async () => {
  const { backup } = await at.made()
  const { items, total } = await listed()
  expect(total).toBe(items.length)
  expect(items[0]).toEqual(backup)
  expect(backup.error).toBeNull()
  expect(await inWords(backup.backup_id)).toMatch(/ of everything, \d.*, completed, verified \S+$/)
})

test('backup list prints the reason for which a backup failed', async () => {
  const elsewhere = await at.run(['create'], { BACKUP_DIR: '/dev/null/below' })
  expect(elsewhere.code).toBe(1)
  const [failed] = (await listed()).items
  expect(failed).toMatchObject({ status: 'failed', reason: 'request', error: expect.any(String) })
  expect(elsewhere.stderr).toContain(failed.error)
  expect(await inWords(failed.backup_id)).toMatch(new RegExp(`, failed: ${failed.error}$`))
})

test('backup list prints that an altered backup could not be read, and that the backup was scheduled', async () => {
  const { backup } = await at.made()
  const id = backup.backup_id
  await at.service.database.sql("update backups set reason = 'schedule' where id = $1", [id])
  await alter(at.fileOf(id))
  expect((await at.run(['verify', id])).code).toBe(1)
  expect((await listed()).items[0]).toMatchObject({
    backup_id: id,
    reason: 'schedule',
    error: expect.stringMatching(/could not be read/),
  })
  expect(await inWords(id)).toMatch(/ of everything, scheduled, .*: The file could not be read/)
})

test('backup list prints for a safety backup why its own restore failed, and not why an earlier restore did', async () => {
  const { backup } = await at.made()
  const { service } = at
  const restore = async (why: string) => {
    const job = randomUUID()
    // The service may notice the end of maintenance mode a moment later.
    await service.app.db.duringMaintenance().acrossTenants((tx) =>
      insertJob(tx, {
        id: job,
        backup_id: backup.backup_id,
        tenant_id: null,
        kind: 'restore',
        actor: JSON.stringify(SYSTEM),
        options: JSON.stringify({ tenant_id: null, access: 'merged', dry_run: false }),
      }),
    )
    const write = () => Promise.reject(new NoRoomError(why))
    const worker = await workOn(service, { ...folderStore(at.folder), write })
    await has(service, job, 'failed')
    await worker.stop()
  }
  await restore('There is no room for it')
  await restore('There is still none')
  const [second, first] = (await listed()).items
  expect(first).toMatchObject({ reason: 'safety', error: 'There is no room for it.' })
  expect(second).toMatchObject({ reason: 'safety', error: 'There is still none.' })
  expect(await inWords(first.backup_id)).toMatch(
    /, created before a restore, .*, failed: There is no room for it\.$/,
  )
})
