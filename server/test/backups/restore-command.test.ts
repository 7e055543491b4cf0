/** `wardkeep backup verify --drill` and `restore`, of a backup that the database knows. */
import { randomUUID } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import { type ByCommand, openByCommand } from './by-command.ts'

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

describe('verify --drill', () => {
  test('restores one into a server that goes again, and enters how long that took', async () => {
    const ended = await run(['verify', everything.backup_id, '--drill', '--json'])
    expect(ended.code, ended.stderr).toBe(0)
    expect(JSON.parse(ended.stdout).drill_seconds).toBeGreaterThan(0)
    expect(ended.stderr).toMatch(/^(drill: \d+ %\n)+$/)
    expect((await readdir(folder)).filter((name) => name.startsWith('drill-'))).toEqual([])
    expect((await run(['list'])).stdout).toMatch(/restored in \d+ s$/m)
  })

  test('of a file needs no database, and opens what was sealed', async () => {
    const elsewhere = { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' }
    const args = ['verify', fileOf(everything.backup_id), '--drill', '--json']
    const ended = await run(args, elsewhere)
    expect(ended.code, ended.stderr).toBe(0)
    const { backup_id, records, drill_seconds } = JSON.parse(ended.stdout)
    expect({ backup_id, records }).toEqual({ backup_id, records: everything.records })
    expect(drill_seconds).toBeGreaterThan(0)
  })

  test('of one clinic is refused with a sentence', async () => {
    const ended = await run(['verify', ofOne.backup_id, '--drill'])
    expect(ended).toEqual({
      code: 1,
      stdout: '',
      stderr: 'A drill is of a backup of everything; this one is of one tenant.\n',
    })
    const file = await run(['verify', fileOf(ofOne.backup_id), '--drill'])
    expect(file).toMatchObject({ code: 1, stdout: '' })
    expect(file.stderr).toMatch(/of one clinic/)
  })
})

describe('restore in place', () => {
  const nameNow = async () => {
    const [row] = await service.database.sql('select name from tenants where id = $1', [clinic.id])
    return row?.name
  }
  const rename = (name: string) =>
    service.database.sql('update tenants set name = $2 where id = $1', [clinic.id, name])

  test('says what it would do, and does it where that is wanted', async () => {
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
    const [, safety] = /What was before is in backup (\S+)[.]/.exec(ended.stdout) ?? []
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

  test('says which clinics go, as they were not there then, also where nothing else differs', async () => {
    const { backup } = await made()
    const [row] = await service.database.sql<{ id: number }>(
      "insert into tenants (name, subdomain) values ('Younger', 'younger') returning id",
    )
    const going = (words: string) => `${words}, as they were not there then: tenants ${row?.id}.`
    const dry = await run(['restore', backup.backup_id, '--dry-run'])
    expect(dry.code, dry.stderr).toBe(0)
    expect(dry.stdout).toContain(`would do:\n${going('Would be deleted')}\n`)
    expect(dry.stdout).not.toContain('nothing')
    const ended = await run(['restore', backup.backup_id, '--yes'])
    expect(ended.code, ended.stderr).toBe(0)
    expect(ended.stdout).toContain(`is restored:\n${going('Deleted')}\n`)
    const same = await run(['restore', backup.backup_id, '--dry-run'])
    expect(same.stdout).toContain('  nothing: all is as it was then\n')
  })

  test.each([
    ['a tenant that it does not hold', ['--tenant', '999999', '--yes'], /purged|gone/],
    ['what is no tenant', ['--tenant', 'north', '--yes'], /the id of the tenant, a number/],
    ['an access that there is none', ['--access', 'all', '--yes'], /merged or backup/],
  ])('refuses %s', async (_what, args, sentence) => {
    const ended = await run(['restore', everything.backup_id, ...args])
    expect(ended).toMatchObject({ code: 1, stdout: '' })
    expect(ended.stderr).toMatch(sentence)
  })

  test('refuses what is no backup, and a file with what is of one in its place', async () => {
    expect((await run(['restore', randomUUID(), '--yes'])).code).toBe(1)
    const ended = await run(['restore', '/nowhere/at.all', '--dry-run'])
    expect(ended.stderr).toContain('--dry-run')
  })
})
