/** Only one job of each kind runs at a time. The refusal names the kind of the running job. */
import { randomUUID } from 'node:crypto'
import { afterEach, beforeAll, expect, test } from 'vitest'
import { insertJob } from '../../src/features/backups/backups.store.ts'
import type { BackupJobKind } from '../../src/features/backups/backups.table.ts'
import { SYSTEM } from '../../src/platform/journal/index.ts'
import { superadmin } from '../support/clinics.ts'
import { type ByCommand, openByCommand } from './command-scene.ts'

let at: ByCommand
let backup: any

beforeAll(async () => {
  at = await openByCommand()
  backup = (await at.made()).backup
  return at.close
})

afterEach(async () => void (await at.service.database.sql('delete from backup_jobs')))

const queue = (kind: BackupJobKind) =>
  at.service.app.db.acrossTenants((tx) =>
    insertJob(tx, {
      id: randomUUID(),
      backup_id: backup.backup_id,
      tenant_id: null,
      kind,
      actor: JSON.stringify(SYSTEM),
    }),
  )

test.each([
  ['create', 'backup_running', /^Another backup is running\. /],
  ['restore', 'restore_running', /^Another restore is running\. /],
  ['forget', 'backup_running', /^Another backup is being rewritten\. /],
] as const)(
  'the service refuses the second of two simultaneous %s jobs with a message for this kind of job',
  async (kind, code, message) => {
    await queue(kind)
    const refused = queue(kind)
    await expect(refused).rejects.toMatchObject({ code, status: 409 })
    await expect(refused).rejects.toThrow(message)
  },
)

test('the API and the command line report that a restore is running', async () => {
  await queue('restore')
  const { token } = await superadmin(at.service)
  const { status, body } = await at.service.call('POST', '/api/admin/backup/restore', {
    token,
    body: { backup_id: backup.backup_id, dry_run: true },
  })
  expect({ status, body }).toEqual({
    status: 409,
    body: { detail: 'Another restore is running. Wait until it ends.', code: 'restore_running' },
  })
  expect(await at.run(['restore', backup.backup_id, '--dry-run'])).toEqual({
    code: 1,
    stdout: '',
    stderr: 'Another restore is running. Wait until it ends.\n',
  })
})
