/** Runs every fenced command of the runbooks, and of the guides for operators, on real databases. */
import { randomBytes } from 'node:crypto'
import { existsSync, globSync } from 'node:fs'
import { copyFile, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { codeOf } from '../support/accounts.ts'
import { atTheEnd } from '../support/cleanup.ts'
import { makeClinic, type Person, superadmin } from '../support/clinics.ts'
import { emptyDatabase } from '../support/database.ts'
import { scratch } from '../support/scratch.ts'
import { sealAll } from '../support/sealing.ts'
import { openService, ROOT_KEY, type Service, SUPERADMIN } from '../support/service.ts'
import { until } from '../support/until.ts'
import { bash } from './command.ts'
import { ROOT, textOf } from './documents.ts'

let service: Service
let root: Person
/** The data folder of the commands, which does not exist at first. */
let dataDir: string
/** The superadmin's password, which a runbook changes. */
let password = SUPERADMIN.password

beforeAll(async () => {
  service = await openService({ background: ['backups', 'jobs', 'webhooks'] })
  root = await superadmin(service)
  dataDir = path.join(await scratch(), 'data')
})

/** The commands of the runbooks, and of the guides for operators and administrators. */
const PAGES = 'docs/{runbooks,how-to/{operate,administer}}/*.md'
/**
 * Returns whether a block is a configuration file, or a command that only works on a prepared machine. Guides contain
 * both.
 */
const isConfiguration = (file: string, language: string) =>
  file.startsWith('docs/how-to/') && language !== 'sh'

/** Every fenced block of these pages, by `file#number`. */
const BLOCKS = new Map<string, { language: string; block: string }>(
  globSync(PAGES, { cwd: ROOT }).flatMap((file) => {
    const text = textOf(file).replaceAll(/^ {3}/gm, '')
    const name = path.basename(file, '.md')
    return [...text.matchAll(/^```(\w*)\n(.*?)^```/gms)]
      .filter(([, language = '']) => !isConfiguration(file, language))
      .map(
        ([, language = '', block = ''], at) => [`${name}#${at + 1}`, { language, block }] as const,
      )
  }),
)
const ran = new Set<string>()

/** Returns the text of a block, with other values in place of its example values. */
function blockOf(name: string, values: Record<string, string> = {}): string {
  ran.add(name)
  return Object.entries(values).reduce((text, [example, value]) => {
    if (!text.includes(example)) throw new Error(`${name} has no ${example}`)
    return text.replaceAll(example, value)
  }, BLOCKS.get(name)?.block ?? '')
}

/** Runs a block with Bash and expects success. Returns its output. */
async function run(
  name: string,
  values: Record<string, string>,
  variables: Record<string, string> = {},
): Promise<string> {
  const ended = await bash(blockOf(name, values), variables, await scratch())
  expect([name, ended.code, ended.stderr]).toEqual([name, 0, expect.any(String)])
  return ended.stdout
}

/** Returns the variables for a command on the database of the service. */
const beside = () => ({
  DATABASE_URL: service.database.url,
  ENCRYPTION_KEY: ROOT_KEY.toString('base64'),
  DATA_DIR: dataDir,
})

/** Runs the command of a runbook for the superadmin of the test. Returns the printed password. */
async function runCommand(runbook: string): Promise<string> {
  const values = { 'admin@platform.local': SUPERADMIN.email.toUpperCase() }
  const printed = await run(`${runbook}#1`, values, beside())
  return /with the password (\S+)/.exec(printed)?.[1] ?? ''
}

/** Signs in with a printed password, and chooses another one. Returns the token. */
async function chooseAfter(printed: string, chosen: string): Promise<string> {
  const first = await signIn(printed)
  expect(first.body).toMatchObject({ password_change_required: true })
  const body = { current_password: printed, new_password: chosen }
  const { access_token: token } = first.body
  expect((await service.call('PUT', '/api/users/me/password', { token, body })).status).toBe(200)
  password = chosen
  return (await signIn(chosen)).body.access_token
}

const signIn = (given: string) =>
  service.call('POST', '/api/auth/login', {
    body: { email: SUPERADMIN.email, password: given, subdomain: 'platform' },
  })

/** Sets up a second factor for the superadmin. */
async function enrol(): Promise<void> {
  const { token } = root
  const step = (name: string, body?: object) =>
    service.call('POST', `/api/auth/totp/${name}`, { token, body })
  const { secret } = (await step('setup', { password })).body
  expect((await step('enable', { code: codeOf(service, secret) })).status).toBe(200)
}

/** Nodes notice a manual change in the same way as any other change. */
const untilSignedOut = ({ token }: Person) =>
  expect
    .poll(async () => (await service.call('GET', '/api/users/me', { token })).status, {
      timeout: 10_000,
    })
    .toBe(401)

describe('the runbook lost-second-factor.md', () => {
  test("lets the superadmin sign in without the second factor, ends the superadmin's sessions and writes the journal", async () => {
    await enrol()
    const body = { ...SUPERADMIN, subdomain: 'platform' }
    const login = () => service.call('POST', '/api/auth/login', { body })
    expect((await login()).body.code).toBe('totp_required')

    const printed = await runCommand('lost-second-factor')
    await untilSignedOut(root)
    const token = await chooseAfter(printed, 'factor-Gone-Gate-42')
    const entries = await service.call('GET', '/api/admin/audit', {
      token,
      query: { action: 'auth.totp_disabled' },
    })
    expect(entries.body.items).toMatchObject([{ resource_id: String(root.id), user_id: null }])
    root = { ...root, token }
  })
})

describe('the runbook lost-superadmin-password.md', () => {
  const linksOf = ({ id }: Person) =>
    service.database.sql('select purpose from account_tokens where user_id = $1', [id])

  test('sets the password, ends the sessions, invalidates mailed links, notifies the nodes and writes the journal', async () => {
    const { email } = SUPERADMIN
    await service.call('POST', '/api/auth/request-reset', {
      body: { email, subdomain: 'platform' },
    })
    await until('the link is sent', async () => (await linksOf(root))[0])
    const printed = await runCommand('lost-superadmin-password')
    await untilSignedOut(root)
    expect(await linksOf(root)).toEqual([])
    const token = await chooseAfter(printed, 'found-Again-Gate-42')
    const entries = await service.call('GET', '/api/admin/audit', {
      token,
      query: { action: 'user.password_changed' },
    })
    const { id, tenant_id } = root
    expect(entries.body.items).toContainEqual(
      expect.objectContaining({
        resource_id: String(id),
        tenant_id,
        user_id: null,
        changes: expect.objectContaining({ by: 'command line' }),
      }),
    )
    root = { ...root, token }
  })
})

describe('the runbook rotate-signing-key.md', () => {
  const keys = () => service.database.sql('select retired_at from signing_keys')

  test('keeps the former signing key until it is revoked', async () => {
    await run('rotate-signing-key#1', {}, beside())
    expect(await keys()).toHaveLength(2)
    await run('rotate-signing-key#2', {}, beside())
    expect(await keys()).toEqual([{ retired_at: null }])
    await untilSignedOut(root)
    root = { ...root, token: (await signIn(password)).body.access_token }
  })
})

describe('the runbook lost-audit-key.md', () => {
  test('replaces a key that cannot be decrypted', async () => {
    const read = () => service.call('GET', '/api/admin/audit/heads', { token: root.token })
    const { key } = (await read()).body
    await service.database.sql(
      'update audit_keys set sealed_private_key = sealed_private_key || $1',
      [randomBytes(1)],
    )
    const folder = await scratch()
    const verify = await bash('wardkeep keys verify', beside(), folder)
    expect(verify.stdout).toMatch(/^audit_keys: 1 values in 1 rows, 1 cannot be decrypted$/m)
    const printed = await run('lost-audit-key#1', {}, beside())
    expect((await read()).body.key).toBe(printed.trim())
    expect(printed.split('+')[0]).toBe(key.split('+')[0])
    expect((await bash('wardkeep audit verify', beside(), folder)).code).toBe(0)
  })
})

describe('the runbook audit-erasure.md', () => {
  test('erases the entries of a user', async () => {
    const { id, people } = await makeClinic(service, root, 'erased')
    await sealAll(service)
    const values = { '--tenant 7': `--tenant ${id}`, '--user 41': `--user ${people.nurse.id}` }
    expect(await run('audit-erasure#1', values, beside())).toMatch(/^Erased [1-9]\d* entries\.$/m)
    const left = await service.database.sql('select from journal where user_email = $1', [
      people.nurse.email,
    ])
    expect(left).toEqual([])
  })
})

describe('the runbook journal-readers.md', () => {
  test('confirms the self-healing fix', async () => {
    await service.database.sql(
      "update self_healing_fixes set status = 'proposed' where key = 'journal.held_back'",
    )
    const told = await run('journal-readers#1', {}, beside())
    expect(told).toContain('journal.held_back: ')
    const [fix] = await service.database.sql(
      "select status from self_healing_fixes where key = 'journal.held_back'",
    )
    expect(fix).toEqual({ status: 'applied' })
  })
})

describe('the runbook mail.md', () => {
  test('requests a reset link', async () => {
    const address = await service.app.server.listen({ host: '127.0.0.1', port: 0 })
    expect(await run('mail#1', {}, { PUBLIC_URL: address })).toContain('202 Accepted')
  })
})

describe('the runbook root-key.md', () => {
  test('replaces the root key, and lets the service start with another key once the root key is lost', async () => {
    const own = await openService()
    const { people } = await makeClinic(own, await superadmin(own), 'north')
    const { token } = people.admin
    const body = { full_name: 'Paula Patient' }
    expect((await own.call('POST', '/api/patients', { token, body })).status).toBe(201)
    const webhook = { url: 'http://127.0.0.1:9/hook', events: ['*'] }
    await own.call('POST', '/api/webhooks/register', { token, body: webhook })
    await sealAll(own)
    const signed = await own.call('GET', '/api/admin/audit/heads', { token })
    await own.close()

    const folder = await scratch()
    const variables = { ...beside(), DATABASE_URL: own.database.url }
    const verify = async (given: Record<string, string>) =>
      (await bash('wardkeep keys verify', given, folder)).stdout
    await run('root-key#1', { '/safe': folder })
    await run('root-key#2', { '/safe': folder }, variables)
    const { ENCRYPTION_KEY: _, ...others } = variables
    const next = { ...others, ENCRYPTION_KEY_FILE: `${folder}/root.key.next` }
    expect(await verify(next)).toMatch(/^patients: 3 values in 1 rows, 0 cannot be decrypted$/m)

    const refused = await bash(blockOf('root-key#3'), next, folder)
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringMatching(/decrypts/) })
    const warned = await bash('wardkeep keys abandon', others, folder)
    expect(warned).toMatchObject({ code: 1, stderr: expect.stringMatching(/Configured: none\./) })
    const [, fingerprint = ''] = /requires root key (\w+)\./.exec(warned.stderr) ?? []
    const fresh = { ...others, ENCRYPTION_KEY: randomBytes(32).toString('base64') }
    const rotate = () => bash('wardkeep rotate-signing-key', fresh, folder)
    expect(await rotate()).toMatchObject({ code: 1 })
    expect(await bash(blockOf('root-key#3'), fresh, folder)).toMatchObject({ code: 1 })
    await run('root-key#3', { FINGERPRINT: fingerprint }, fresh)
    expect(await rotate()).toMatchObject({ code: 0 })
    const sealed = (await verify(fresh)).split('\n').filter((line) => !/: 0 values/.test(line))
    const tables = sealed.map((line) => line.split(':')[0]).filter((table) => table !== '')
    expect(tables).toEqual(['key_encryption_keys', 'service_key', 'signing_keys'])
    // The audit logs continue under their names with another key, and their former heads are verified.
    const key = (await bash('wardkeep audit key', fresh, folder)).stdout.trim()
    expect(key).not.toBe(signed.body.key)
    expect(key.split('+')[0]).toBe(signed.body.key.split('+')[0])
    await writeFile(path.join(folder, 'head'), signed.body.items[0].checkpoint)
    for (const more of ['', `--key '${key}' --key '${signed.body.key}'`]) {
      const verified = await bash(`wardkeep audit verify --head head ${more}`, fresh, folder)
      expect([verified.code, verified.stderr]).toEqual([0, ''])
    }
  })
})

describe('a full backup, as described in the runbook,', () => {
  let file: string
  let folder: string
  let key: Record<string, string>

  beforeAll(async () => {
    const { token } = root
    const clinic = await makeClinic(service, root, 'south')
    const department = { name: 'Surgery', tenant_id: clinic.id }
    await service.call('POST', '/api/admin/departments', { token, body: department })
    const { body } = await service.call('POST', '/api/admin/backup/create', { token, body: {} })
    await until('the backup is made', async () => {
      const job = await service.call('GET', `/api/admin/backup/status/${body.job_id}`, { token })
      return job.body.status === 'completed' || undefined
    })
    folder = await scratch()
    file = path.join(folder, 'ID.tar.zst.age')
    await copyFile(path.join(service.dataDir, 'backups', `${body.backup_id}.tar.zst.age`), file)
    await writeFile(path.join(folder, 'root.key'), ROOT_KEY.toString('base64'))
    key = { '/safe/root.key': path.join(folder, 'root.key') }
  })

  test.skipIf(!has('age', 'zstd', 'psql'))('can be decrypted by hand', async () => {
    const identity = await bash('wardkeep backup identity > identity.txt', beside(), folder)
    expect(identity).toMatchObject({ code: 0 })
    const database = await emptyDatabase()
    const unpacked = await bash(blockOf('open-backup-by-hand#1'), {}, folder)
    expect(unpacked).toMatchObject({ code: 0 })
    const header = JSON.parse(await readFile(path.join(folder, 'header.json'), 'utf8'))
    const { columns } = header.tables.find(({ name }: { name: string }) => name === 'departments')
    await database.sql(
      `create table departments (${columns.map((name: string) => `${name} text`)})`,
    )
    const load = blockOf('open-backup-by-hand#2', { 'id, tenant_id, name': columns.join(', ') })
    const loaded = await bash(load, { DATABASE: database.url }, folder)
    expect(loaded).toMatchObject({ code: 0, stderr: '' })
    const names = await database.sql('select name from departments')
    expect(names).toContainEqual({ name: 'Surgery' })
  })

  test.skipIf(!has('createuser', 'createdb'))(
    'can be restored into a database created for it',
    async () => {
      const name = `runbook_${randomBytes(4).toString('hex')}`
      const server = new URL((await emptyDatabase()).url)
      const login = {
        PGHOST: server.searchParams.get('host') ?? server.hostname,
        PGPORT: server.port,
        PGUSER: server.username,
        PGPASSWORD: decodeURIComponent(server.password),
      }
      const made = blockOf('move-the-database#1', { wardkeep: name, ' --pwprompt': '' })
      expect(await bash(made, login, folder)).toMatchObject({ code: 0, stderr: '' })
      atTheEnd(() => bash(`dropdb --force ${name}; dropuser ${name}`, login, folder))
      server.pathname = name
      const url = 'postgres://wardkeep:…@db.example:5432/wardkeep'
      const from = { [url]: server.href, '$DATA_DIR/backups/ID': '$DATA_DIR/ID' }
      const restored = await run('move-the-database#2', { ...key, ...from }, { DATA_DIR: folder })
      expect(restored).toMatch(/was restored: \d+ records/)
    },
  )

  test('can be restored into a new folder and an empty database, where the service starts', async () => {
    const data = path.join(await scratch(), 'data')
    const into = { ...key, '/var/lib/wardkeep': data }
    const values = { ...into, 'postgres://…': (await emptyDatabase()).url, 'ID.tar.zst.age': file }
    const restored = await run('total-loss#1', values, { DATA_DIR: folder })
    expect(restored.match(/was restored: \d+ records/g)).toHaveLength(2)
    const start = `${blockOf('total-loss#2', into).trim()} > started & child=$!
      until grep -q 'is ready' started; do kill -0 $child; sleep 0.2; done
      cat started; kill $child; wait $child`
    const started = await bash(start, { PORT: '0' }, folder)
    expect(started).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/This is a restored copy/),
    })
  })
})

test('the tests above run every command block of every runbook, and no block contains SQL', () => {
  const missing = has('age', 'zstd', 'psql')
    ? []
    : ['open-backup-by-hand#1', 'open-backup-by-hand#2']
  if (!has('createuser', 'createdb')) missing.push('move-the-database#1', 'move-the-database#2')
  expect([...ran, ...missing].sort()).toEqual([...BLOCKS.keys()].sort())
  expect([...BLOCKS.values()].filter(({ language }) => language !== 'sh')).toEqual([])
})

/** Returns whether the machine has all these programs. */
function has(...programs: string[]): boolean {
  const folders = (process.env.PATH ?? '').split(':')
  return programs.every((name) => folders.some((at) => existsSync(path.join(at, name))))
}
