/** `wardkeep start` on an empty folder and again on the result: the accounts and the data. */
import { readFileSync } from 'node:fs'
import { chown, mkdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ROLES } from '../../src/lib/roles.ts'
import { query } from '../support/embedded.ts'
import { type RunningService, type RunOptions, startService, tokenOf } from '../support/process.ts'
import { isRoot } from '../support/processes.ts'
import { scratch } from '../support/scratch.ts'
import { codeReachable, NOBODY } from '../support/unprivileged-account.ts'

/** The minimum configuration: a free port and a folder. */
const bare = (dataDir: string) => ({ PORT: '0', DATA_DIR: dataDir })

const jsonLines = (text: string) => text.split('\n').filter((line) => line.startsWith('{'))

const generatedPassword = (service: RunningService) =>
  passwordOf(/password in (\S+) /.exec(service.stdout())?.[1])

const passwordOf = (file: string | undefined) => file && readFileSync(file, 'utf8').trim()

/** The demo's accounts as printed on startup: `[email, role]`. */
function demoAccounts(service: RunningService): [string, string][] {
  const found = service.stdout().matchAll(/^ {2}(\S+@demo\.local) +(\w+)$/gm)
  return [...found].map(([, email = '', role = '']) => [email, role])
}

const demoPassword = (service: RunningService) =>
  /demo clinic .+ password is (\S+)\.$/m.exec(service.stdout())?.[1] ?? ''

async function signInDemo(service: RunningService, email: string) {
  const credentials = { email, password: demoPassword(service), subdomain: 'demo' }
  return service.call('POST', '/api/auth/login', { body: credentials })
}

async function walkThrough(dataDir: string, options: RunOptions): Promise<void> {
  const first = await startService(bare(dataDir), options)
  expect(await first.call('GET', '/readyz')).toMatchObject({ status: 200 })

  // The password is in a file and not in the output, because logs keep the output.
  const password = generatedPassword(first) ?? ''
  expect(password.length).toBeGreaterThan(12)
  expect(first.stdout()).not.toContain(password)
  expect(jsonLines(first.stdout()).join()).not.toContain(password)
  expect(jsonLines(first.stdout()).join()).not.toContain(demoPassword(first))
  const superadmin = { email: 'admin@platform.local', password, subdomain: 'platform' }
  const root = await tokenOf(first, superadmin)
  const me = await first.call('GET', '/api/users/me', { token: root })
  expect(me.body).toMatchObject({ role: 'superadmin', email: superadmin.email })
  // The user must change this password first, because any reader of the terminal knows it.
  const refused = await first.call('GET', '/api/admin/tenants', { token: root })
  expect(refused).toMatchObject({ status: 403, body: { code: 'password_change_required' } })

  // Checks that the demo clinic has all its users.
  const accounts = demoAccounts(first)
  const roles = new Set(accounts.map(([, role]) => role))
  expect(roles).toEqual(new Set(ROLES.filter((role) => role !== 'superadmin')))
  for (const [email, role] of accounts)
    expect(await signInDemo(first, email)).toMatchObject({
      status: 200,
      body: { role, demo_mode: true },
    })
  const { body: admin } = await signInDemo(first, 'admin@demo.local')
  const token = admin.access_token
  const health = await first.call('GET', '/api/admin/health', { token })
  expect(health.body).toMatchObject({
    status: 'ok',
    patients_count: 200,
    users_count: accounts.length,
    database: { embedded: true },
  })
  const departments = await first.call('GET', '/api/admin/departments', { token })
  expect(departments.body.total).toBe(3)
  const made = await first.call('POST', '/api/admin/departments', {
    token,
    body: { name: 'Ours' },
  })
  expect(await first.stop()).toEqual({ code: 0, signal: null })

  const second = await startService(bare(dataDir), options)
  expect(generatedPassword(second)).toBeUndefined()
  expect(second.stdout()).not.toContain(password)
  expect(demoAccounts(second)).toEqual(accounts)
  // Earlier tokens stay valid, and nothing was created twice.
  const again = await second.call('GET', '/api/admin/departments', { token })
  expect(again.body.items.map(({ id }: { id: number }) => id)).toContain(made.body.id)
  expect(again.body.total).toBe(4)
  await tokenOf(second, superadmin)
  expect((await second.call('GET', '/api/admin/health', { token })).body.patients_count).toBe(200)
  expect(await second.stop()).toEqual({ code: 0, signal: null })
}

describe('the first start prints the accounts, and the second start keeps all data,', () => {
  test('under the user account that runs the tests', async () => {
    const dataDir = join(await scratch(), 'new')
    await walkThrough(dataDir, {})
    expect((await stat(join(dataDir, 'root.key'))).mode & 0o777).toBe(0o600)
  })

  test.runIf(isRoot)('under a user account without privileges', async (context) => {
    if (!codeReachable()) context.skip('the account cannot read the code')
    const home = await scratch()
    await chown(home, NOBODY.uid, NOBODY.gid)
    const dataDir = join(home, 'data')
    await walkThrough(dataDir, { account: NOBODY, cwd: home })
    for (const name of ['postgres', 'root.key', 'owner.lock'])
      expect((await stat(join(dataDir, name))).uid).toBe(NOBODY.uid)
  })

  test.runIf(isRoot)(
    'under a user account without privileges, in the default folder ./data',
    async (context) => {
      if (!codeReachable()) context.skip('the account cannot read the code')
      const home = await scratch()
      await mkdir(join(home, 'here'))
      await chown(join(home, 'here'), NOBODY.uid, NOBODY.gid)
      const service = await startService(
        { PORT: '0', DEMO: 'false' },
        { account: NOBODY, cwd: join(home, 'here') },
      )
      expect((await stat(join(home, 'here', 'data', 'postgres'))).uid).toBe(NOBODY.uid)
      await service.stop()
    },
  )
})

describe('the password of the first superadmin', () => {
  test('is the configured one, and is then not printed', async () => {
    const password = 'winter-Garden-31'
    const service = await startService({
      ...bare(await scratch()),
      DEMO: 'false',
      BOOTSTRAP_ADMIN_EMAIL: 'First@Platform.test',
      BOOTSTRAP_ADMIN_PASSWORD: password,
    })
    expect(service.stdout()).not.toContain(password)
    expect(service.stdout()).toContain('password from BOOTSTRAP_ADMIN_PASSWORD')
    expect(service.stdout()).not.toContain('demo.local')
    await tokenOf(service, { email: 'first@platform.test', password, subdomain: 'platform' })
    await service.stop()
  })

  test('is stored in the database only as a hash', async () => {
    const dataDir = await scratch()
    const service = await startService({ ...bare(dataDir), DEMO: 'false' })
    const password = generatedPassword(service) ?? ''
    const address = { host: join(dataDir, 'run'), port: 5432, user: 'wardkeep_owner' }
    const rows = await query<{ row: string }>(
      { ...address, database: 'wardkeep' },
      'select users::text as row from users',
    )
    expect(rows).toHaveLength(1)
    expect(rows[0]?.row).toContain('$argon2id$v=19$m=19456,t=2,p=1$')
    expect(rows[0]?.row).not.toContain(password)
    expect(await readFile(join(dataDir, 'postgres.log'), 'utf8')).not.toContain(password)
    await service.stop()
  })
})
