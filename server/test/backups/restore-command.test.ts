/** Runs `wardkeep backup verify --drill` and `restore` on a backup that the database lists. */
import { randomUUID } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import { type ByCommand, openByCommand } from './command-scene.ts'

let service: ByCommand['service']
let clinic: ByCommand['clinic']
let folder: string
let run: ByCommand['run']
let made: ByCommand['made']
let fileOf: ByCommand['fileOf']
let everything: any
let ofOne: any

beforeAll(async () => {
  const opened = await openByCommand()
  ;({ service, clinic, folder, run, made, fileOf } = opened)
  everything = (await made()).backup
  ofOne = (await made('--tenant', String(clinic.id))).backup
  return opened.close
})

describe('wardkeep backup verify --drill', () => {
  test('restores a backup into a temporary server, and records the duration', async () => {
    const ended = await run(['verify', everything.backup_id, '--drill', '--json'])
    expect(ended.code, ended.stderr).toBe(0)
    expect(JSON.parse(ended.stdout).drill_seconds).toBeGreaterThan(0)
    expect(ended.stderr).toMatch(/^(drill: \d+ %\n)+$/)
    expect((await readdir(folder)).filter((name) => name.startsWith('drill-'))).toEqual([])
    expect((await run(['list'])).stdout).toMatch(/test restore took \d+ s$/m)
  })

  test('needs no database to verify a file, and decrypts the encrypted values in the file', async () => {
    const elsewhere = { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' }
    const args = ['verify', fileOf(everything.backup_id), '--drill', '--json']
    const ended = await run(args, elsewhere)
    expect(ended.code, ended.stderr).toBe(0)
    const { backup_id, records, drill_seconds } = JSON.parse(ended.stdout)
    expect({ backup_id, records }).toEqual({ backup_id, records: everything.records })
    expect(drill_seconds).toBeGreaterThan(0)
  })

  test('refuses a backup of one clinic with a message', async () => {
    const ended = await run(['verify', ofOne.backup_id, '--drill'])
    expect(ended).toEqual({
      code: 1,
      stdout: '',
      stderr: 'A test restore requires a full backup. This is a backup of one tenant.\n',
    })
    const file = await run(['verify', fileOf(ofOne.backup_id), '--drill'])
    expect(file).toMatchObject({ code: 1, stdout: '' })
    expect(file.stderr).toMatch(/of one tenant/)
  })
})

describe('wardkeep backup restore in place', () => {
  const nameNow = async () => {
    const [row] = await service.database.sql('select name from tenants where id = $1', [clinic.id])
    return row?.name
  }
  const rename = (name: string) =>
    service.database.sql('update tenants set name = $2 where id = $1', [clinic.id, name])

  test('previews the restore, and performs it after confirmation', async () => {
    await rename('As it was')
    const { backup } = await made()
    await rename('As it is')
    const id = backup.backup_id
    const refused = await run(['restore', id])
    expect(refused).toMatchObject({ code: 1, stdout: '' })
    expect(refused.stderr).toContain('--yes')
    const dry = await run(['restore', id, '--dry-run'])
    expect(dry.code, dry.stderr).toBe(0)
    expect(dry.stdout).toContain('  tenants: 0 added, 1 changed, 0 removed\n')
    expect(await nameNow()).toBe('As it is')
    const ended = await run(['restore', id, '--yes'])
    expect(ended.code, ended.stderr).toBe(0)
    expect(ended.stderr).toMatch(/^(restoring: \d+ %\n)+$/)
    expect(await nameNow()).toBe('As it was')
    const [, safety] = /The state before the restore is in backup (\S+)[.]/.exec(ended.stdout) ?? []
    const back = await run([
      'restore',
      String(safety),
      '--yes',
      '--json',
      '--tenant',
      `${clinic.id}`,
    ])
    expect(JSON.parse(back.stdout)).toMatchObject({ kind: 'restore', status: 'completed' })
    expect(await nameNow()).toBe('As it is')
  })

  test('names newer clinics that it would delete, even if nothing else differs', async () => {
    const { backup } = await made()
    const [row] = await service.database.sql<{ id: number }>(
      "insert into tenants (name, subdomain) values ('Younger', 'younger') returning id",
    )
    const going = (words: string) =>
      `${words} because they do not exist in the backup: tenants ${row?.id}.`
    const dry = await run(['restore', backup.backup_id, '--dry-run'])
    expect(dry.code, dry.stderr).toBe(0)
    expect(dry.stdout).toContain(`would change:\n${going('Would be deleted')}\n`)
    expect(dry.stdout).not.toContain('nothing')
    const ended = await run(['restore', backup.backup_id, '--yes'])
    expect(ended.code, ended.stderr).toBe(0)
    expect(ended.stdout).toContain(`was restored. Changes:\n${going('Deleted')}\n`)
    const same = await run(['restore', backup.backup_id, '--dry-run'])
    expect(same.stdout).toContain('  nothing, because nothing differs from the backup\n')
  })

  test.each([
    ['a tenant that is not in the backup', ['--tenant', '999999', '--yes'], /purged|gone/],
    ['an invalid tenant ID', ['--tenant', 'north', '--yes'], /the id of the tenant as a number/],
    ['an unknown access mode', ['--access', 'all', '--yes'], /merged or backup/],
  ])('refuses %s', async (_what, args, sentence) => {
    const ended = await run(['restore', everything.backup_id, ...args])
    expect(ended).toMatchObject({ code: 1, stdout: '' })
    expect(ended.stderr).toMatch(sentence)
  })

  test('refuses an unknown backup, and --dry-run with a file', async () => {
    expect((await run(['restore', randomUUID(), '--yes'])).code).toBe(1)
    const ended = await run(['restore', '/nowhere/at.all', '--dry-run'])
    expect(ended.stderr).toContain('--dry-run')
  })
})
