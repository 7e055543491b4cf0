/** The commands of the runbooks, run next to a service on the same database. */
import { randomBytes } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import { type Clinic, makeClinic, PASSWORD, type Person, superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'
import { wardkeep } from './command.ts'
import { textOf } from './documents.ts'

let service: Service
let root: Person
let clinic: Clinic

beforeAll(async () => {
  service = await openService({ background: ['jobs'] })
  root = await superadmin(service)
  clinic = await makeClinic(service, root, 'north')
})

const run = (...args: string[]) => wardkeep(service.database, args)

test('wardkeep --version prints the release', async () => {
  expect(await run('--version')).toEqual({
    code: 0,
    stdout: `${packageJson.version}\n`,
    stderr: '',
  })
})

/** Expects one sentence for the operator, without a stack trace. */
const fault = (text: string) => ({ code: 1, stdout: '', stderr: `${text}\n` })

describe('wardkeep restore-tenant', () => {
  test('restores a deleted tenant, whose users sign in as before', async () => {
    await service.call('DELETE', `/api/admin/tenants/${clinic.id}`, { token: root.token })
    const body = { email: 'admin@north.test', password: PASSWORD, subdomain: 'north' }
    expect(await service.call('POST', '/api/auth/login', { body })).toMatchObject({ status: 401 })

    const ended = await run('restore-tenant', String(clinic.id))
    expect(ended).toEqual({
      code: 0,
      stdout: `Tenant ${clinic.id} (north) was restored.\n`,
      stderr: '',
    })
    expect(await service.call('POST', '/api/auth/login', { body })).toMatchObject({ status: 200 })
    const entries = await service.call('GET', '/api/admin/audit', {
      token: root.token,
      query: { action: 'tenant.restored' },
    })
    expect(entries.body.items).toMatchObject([{ tenant_id: clinic.id, user_id: null }])
  })

  test('reports that the tenant is not deleted, if that is the case', async () => {
    expect(await run('restore-tenant', String(clinic.id))).toEqual(
      fault(`No deleted tenant has the id ${clinic.id}.`),
    )
  })

  test('requires a number as the tenant ID', async () => {
    expect(await run('restore-tenant', 'north')).toEqual(
      fault('Invalid tenant id. Pass the id of the tenant as a number.'),
    )
  })
})

describe('wardkeep admin reset', () => {
  test('refuses an address that belongs to no superadmin', async () => {
    expect(await run('admin', 'reset', clinic.people.admin.email)).toEqual(
      fault(`No superadmin has the e-mail address ${clinic.people.admin.email}.`),
    )
  })

  test('unblocks a superadmin', async () => {
    const { email } = await superadmin(service)
    await service.database.sql('update users set is_active = false where id = $1', [root.id])
    expect(await run('admin', 'reset', email)).toMatchObject({ code: 0, stderr: '' })
    const [user] = await service.database.sql(
      'select is_active, must_change_password from users where id = $1',
      [root.id],
    )
    expect(user).toEqual({ is_active: true, must_change_password: true })
    await service.database.sql('update users set must_change_password = false where id = $1', [
      root.id,
    ])
    root = await superadmin(service)
  })
})

describe('wardkeep rotate-signing-key', () => {
  test('creates a key with which the running service signs, and signs nobody out', async () => {
    const ended = await run('rotate-signing-key')
    expect(ended).toMatchObject({ code: 0, stderr: '' })
    const [, kid] = /signed with key (\S+)\.\n$/.exec(ended.stdout) ?? []
    await expect
      .poll(async () => (await service.call('GET', '/.well-known/jwks.json')).body.keys, {
        timeout: 10_000,
      })
      .toContainEqual(expect.objectContaining({ kid }))
    const me = await service.call('GET', '/api/users/me', { token: root.token })
    expect(me.status).toBe(200)
  })

  test('refuses another root key, with the message that the runbook names', async () => {
    const ended = await wardkeep(service.database, ['rotate-signing-key'], randomBytes(32))
    expect(ended).toMatchObject({ code: 1, stdout: '' })
    const [sentence] = /ENCRYPTION_KEY: [^`]+/.exec(textOf('docs/runbooks/root-key.md')) ?? ['none']
    expect(ended.stderr).toContain(sentence)
    expect(ended.stderr.trim()).not.toContain('\n')
  })
})

describe('wardkeep migrate', () => {
  test('changes nothing on a migrated database', async () => {
    const ended = await run('migrate')
    expect(ended).toMatchObject({ code: 0, stderr: '' })
    expect(ended.stdout).toMatch(/^The database schema is at version \d+\.\n$/)
  })

  test('names the faulty variable if there is no database', async () => {
    const ended = await wardkeep({ url: 'postgres://nobody@127.0.0.1:1/none' }, ['migrate'])
    expect(ended).toMatchObject({ code: 1, stdout: '' })
    expect(ended.stderr).toMatch(/^DATABASE_URL: .+\n$/)
  })
})
