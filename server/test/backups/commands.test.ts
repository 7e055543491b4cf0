/** `wardkeep backup`: with and without a running service, on DATABASE_URL and on the embedded server. */
import { randomBytes, randomUUID } from 'node:crypto'
import { cp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { identityToRecipient } from 'age-encryption'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { backupIdentity } from '../../src/open-features.ts'
import { runCommand } from '../docs/command.ts'
import { startService } from '../support/process.ts'
import { scratch } from '../support/scratch.ts'
import { ROOT_KEY } from '../support/service.ts'
import { type ByCommand, openByCommand } from './command-scene.ts'
import { alter } from './support.ts'

let service: ByCommand['service']
let clinic: ByCommand['clinic']
let folder: string
let run: ByCommand['run']
let made: ByCommand['made']
let fileOf: ByCommand['fileOf']

beforeAll(async () => {
  const opened = await openByCommand()
  ;({ service, clinic, folder, run, made, fileOf } = opened)
  return opened.close
})

const forget = (id: string) => service.database.sql('delete from backups where id = $1', [id])

describe('wardkeep backup create', () => {
  test('makes a full backup without a user, and prints the progress', async () => {
    const { backup, stderr } = await made()
    expect(backup).toMatchObject({
      type: 'full',
      status: 'completed',
      reason: 'request',
      created_by: null,
      verified_at: expect.any(String),
    })
    expect(stderr).toMatch(/^(backup: \d+ %\n)+$/)
    expect(await readdir(folder)).toContain(`${backup.backup_id}.tar.zst.age`)
  })

  test('makes a backup of a tenant, and refuses unknown tenants', async () => {
    const { backup } = await made('--tenant', String(clinic.id))
    expect(backup).toMatchObject({ type: 'tenant', tenant_id: clinic.id })
    expect(await run(['create', '--tenant', '999999'])).toMatchObject({ code: 1, stdout: '' })
    expect(await run(['create', '--tenant', 'north'])).toEqual({
      code: 1,
      stdout: '',
      stderr: 'Invalid tenant id. Pass the id of the tenant as a number.\n',
    })
  })

  test('exits with code 1 and the reason when the backup fails', async () => {
    const file = join(folder, 'file')
    await writeFile(file, '')
    const ended = await run(['create'], { BACKUP_DIR: join(file, 'below') })
    expect(ended).toMatchObject({ code: 1, stdout: '' })
    expect(ended.stderr).toContain('Internal error. See the log of the service for the cause.\n')
  })
})

describe('wardkeep backup verify', () => {
  test('verifies a backup by its ID, and records the verification', async () => {
    const { backup } = await made()
    const id = backup.backup_id
    await service.database.sql('update backups set verified_at = null where id = $1', [id])
    const ended = await run(['verify', id, '--json'])
    expect(ended.code).toBe(0)
    expect(JSON.parse(ended.stdout)).toMatchObject({ verified_at: expect.any(String) })
    expect(
      await service.database.sql(
        "select user_id from journal where action = 'backup.verified' and resource_id = $1",
        [id],
      ),
    ).toEqual([{ user_id: null }])
  })

  test('exits with code 1 for an altered backup, which no longer counts as verified', async () => {
    const { backup } = await made()
    const id = backup.backup_id
    await alter(fileOf(id))
    const ended = await run(['verify', id])
    expect(ended).toMatchObject({ code: 1, stdout: '' })
    expect(ended.stderr).toContain('The backup is not usable: ')
    const [row] = await service.database.sql('select verified_at from backups where id = $1', [id])
    expect(row).toEqual({ verified_at: null })
  })

  test('verifies a file with the root key alone, without a database', async () => {
    const { backup } = await made()
    const elsewhere = { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' }
    const ended = await run(['verify', fileOf(backup.backup_id), '--json'], elsewhere)
    const { backup_id, type, records, created_at, size_bytes } = backup
    expect(ended.stderr).toBe('')
    expect(JSON.parse(ended.stdout)).toMatchObject({ backup_id, type, records, size_bytes })
    expect(created_at).toEqual(expect.any(String))
    const other = { ...elsewhere, ENCRYPTION_KEY: randomBytes(32).toString('base64') }
    const refused = await run(['verify', fileOf(backup.backup_id)], other)
    expect(refused).toMatchObject({ code: 1, stdout: '' })
    expect(refused.stderr).toContain('The backup is not usable: ')
  })

  test.each([[randomUUID()], ['/nowhere/at.all']])(
    'reports that %s is not a backup',
    async (what) => {
      const ended = await run(['verify', what])
      expect(ended).toMatchObject({ code: 1, stdout: '' })
      expect(ended.stderr.trim()).not.toContain('\n')
    },
  )
})

test('wardkeep backup identity prints a valid age identity, without a database', async () => {
  const ended = await run(['identity'], { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' })
  expect(ended).toMatchObject({ code: 0, stderr: '' })
  expect(ended.stdout.trim()).toBe(await backupIdentity({ rootKeys: [ROOT_KEY], recipients: [] }))
  const [secret = ''] = /^AGE-SECRET-KEY-1\S+$/m.exec(ended.stdout) ?? []
  expect(ended.stdout).toContain(await identityToRecipient(secret))
  for (const line of ended.stdout.trim().split('\n')) expect(line).toMatch(/^(#|AGE-SECRET-KEY-1)/)
})

describe('wardkeep backup adopt', () => {
  test('records backups whose rows the database has lost, with all their fields', async () => {
    const { backup } = await made()
    await forget(backup.backup_id)
    const { adopted } = JSON.parse((await run(['adopt', '--json'])).stdout)
    expect(adopted).toContain(backup.backup_id)
    const { items } = JSON.parse((await run(['list', '--json'])).stdout)
    const again = items.find(({ backup_id }: any) => backup_id === backup.backup_id)
    const { created_at: _, ...rest } = backup
    expect(again).toMatchObject({ ...rest, verified_at: null })
    expect(await run(['adopt'])).toEqual({
      code: 0,
      stdout: 'All backups in the store are already registered.\n',
      stderr: '',
    })
  })

  test('is not needed to verify or restore a backup by ID when only the store knows the backup', async () => {
    const { backup } = await made()
    const id = backup.backup_id
    await forget(id)
    const verified = await run(['verify', id, '--json'])
    expect(verified.code, verified.stderr).toBe(0)
    expect(JSON.parse(verified.stdout)).toMatchObject({ backup_id: id, status: 'completed' })
    await forget(id)
    const tried = await run(['restore', id, '--dry-run', '--json'])
    expect(tried.code, tried.stderr).toBe(0)
    expect(JSON.parse(tried.stdout)).toMatchObject({ backup_id: id, status: 'completed' })
    await forget(id)
    const entry = await readFile(join(folder, `${id}.json`), 'utf8')
    await writeFile(join(folder, `${id}.json`), entry.replace('"full"', '"tenant"'))
    const refused = await run(['restore', id, '--yes'])
    expect(refused).toMatchObject({ code: 1, stdout: '' })
    expect(refused.stderr).toContain('it was not signed with this root key.')
    await rm(join(folder, `${id}.json`))
    const unknown = await run(['restore', id, '--yes'])
    expect(unknown.stderr).toBe(
      `Backup ${id} is not registered in the database: it is not in the store either.\n`,
    )
  })

  test('refuses backups of another installation with the same root key, as an in-place restore does', async () => {
    const [own, foreign] = [(await made()).backup, (await made()).backup]
    await forget(foreign.backup_id)
    const { sql } = service.database
    const [before] = await sql<{ id: string }>('select id from installation')
    await sql('update installation set id = gen_random_uuid()')
    onTestFinished(() => void sql('update installation set id = $1', [before?.id]))
    const { adopted, refused } = JSON.parse((await run(['adopt', '--json'])).stdout)
    expect(adopted).not.toContain(foreign.backup_id)
    expect(refused).toContainEqual({
      name: `${foreign.backup_id}.json`,
      reason: 'the backup belongs to another installation. Restore its file into an empty database',
    })
    const ended = await run(['restore', own.backup_id, '--yes'])
    expect(ended).toMatchObject({ code: 1, stdout: '' })
    expect(ended.stderr).toMatch(
      /Refused: the backup belongs to another installation\. .*empty database/,
    )
    // A file can only be restored into an empty database.
    const file = await run(['restore', fileOf(own.backup_id)])
    expect(file).toMatchObject({ code: 1, stdout: '' })
    expect(file.stderr).toMatch(/empty/)
  })

  test('skips forged entries, entries without a file, and backups of deleted tenants', async () => {
    const BACKUP_DIR = await scratch()
    const reasons: Record<string, string> = {}
    const one = async (reason: string, change: (entry: any, id: string) => unknown) => {
      const { backup } = await made('--tenant', String(clinic.id))
      const id = backup.backup_id
      await forget(id)
      const entry = JSON.parse(await readFile(join(folder, `${id}.json`), 'utf8'))
      await cp(fileOf(id), join(BACKUP_DIR, `${id}.tar.zst.age`))
      const text = change(entry, id)
      await writeFile(join(BACKUP_DIR, `${id}.json`), JSON.stringify((await text) ?? entry))
      reasons[`${id}.json`] = reason
    }
    await one('it was not signed with this root key', (entry) => ({ ...entry, type: 'full' }))
    await one('it was not signed with this root key', ({ mac: _, ...entry }) => entry)
    await one('is missing', (_entry, id) => rm(join(BACKUP_DIR, `${id}.tar.zst.age`)))
    await one('bytes instead of', (_entry, id) =>
      writeFile(join(BACKUP_DIR, `${id}.tar.zst.age`), 'x'),
    )
    const ended = await run(['adopt', '--json'], { BACKUP_DIR })
    expect(ended.code).toBe(1)
    const { adopted, refused } = JSON.parse(ended.stdout)
    expect(adopted).toEqual([])
    expect(refused).toHaveLength(4)
    for (const { name, reason } of refused) {
      expect(reason).toContain(reasons[name])
      expect(ended.stderr).toContain(`${name}: ${reason}.\n`)
    }
    const { stdout, ...told } = await run(['adopt'], { BACKUP_DIR })
    expect(told).toEqual({ code: 1, stderr: ended.stderr })
    expect(stdout).toBe('No backup was registered.\n')
  })
})

test('a backup command connects to the embedded server of a running service, or starts that server', async () => {
  const dataDir = await scratch()
  const key = ROOT_KEY.toString('base64')
  const env = { DATA_DIR: dataDir, ENCRYPTION_KEY: key, PORT: '0' }
  const running = await startService(env)
  onTestFinished(async () => void (await running.stop()))
  const beside = await runCommand(['backup', 'create', '--json'], env)
  expect(beside.code, beside.stderr).toBe(0)
  const { backup_id } = JSON.parse(beside.stdout)
  const restored = await runCommand(['backup', 'restore', backup_id, '--yes', '--json'], env)
  expect(JSON.parse(restored.stdout), restored.stderr).toMatchObject({ status: 'completed' })
  await running.stop()
  const alone = await runCommand(['backup', 'list', '--json'], env)
  expect(JSON.parse(alone.stdout).items).toMatchObject([
    { reason: 'safety', status: 'completed' },
    { backup_id, status: 'completed' },
  ])
})
