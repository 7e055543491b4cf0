/** The commands and the SQL of the runbooks do on a real database what the runbook promises. */
import { randomBytes } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { codeOf } from '../support/accounts.ts'
import { type Person, superadmin } from '../support/clinics.ts'
import { openService, type Service, SUPERADMIN } from '../support/service.ts'
import { until } from '../support/until.ts'
import { wardkeep } from './command.ts'
import { blocksOf, textOf } from './documents.ts'

let service: Service
let root: Person
/** The superadmin's password, which a runbook changes. */
let password = SUPERADMIN.password

beforeAll(async () => {
  service = await openService({ background: ['backups', 'jobs', 'webhooks'] })
  root = await superadmin(service)
})

/** The one SQL block of a runbook; lists there indent it. */
function sqlOf(runbook: string): string {
  const text = textOf(`docs/runbooks/${runbook}.md`).replaceAll(/^ {3}/gm, '')
  const blocks = blocksOf(text, 'sql')
  expect(blocks).toHaveLength(1)
  return blocks[0] as string
}

/** Runs the one `wardkeep` command of a runbook, for the superadmin of the test. Returns the printed password. */
async function runCommand(runbook: string): Promise<string> {
  const [block = '', ...others] = blocksOf(textOf(`docs/runbooks/${runbook}.md`), 'sh')
  expect(others).toEqual([])
  const [program, ...args] = block.trim().split(' ')
  expect(program).toBe('wardkeep')
  const named = args.map((word) => (word.includes('@') ? SUPERADMIN.email.toUpperCase() : word))
  const ended = await wardkeep(service.database, named)
  expect(ended).toMatchObject({ code: 0, stderr: '' })
  return /with the password (\S+)/.exec(ended.stdout)?.[1] ?? ''
}

/** Signs in with a printed password, and chooses another. Returns the token. */
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

/** Nodes hear of what was done by hand as of any other change. */
const untilSignedOut = ({ token }: Person) =>
  expect
    .poll(async () => (await service.call('GET', '/api/users/me', { token })).status, {
      timeout: 10_000,
    })
    .toBe(401)

describe('lost-second-factor.md', () => {
  test('lets the superadmin sign in without the factor, ends the sessions and writes the journal', async () => {
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

describe('lost-superadmin-password.md', () => {
  const linksOf = ({ id }: Person) =>
    service.database.sql('select purpose from account_tokens where user_id = $1', [id])

  test('sets the password, ends the sessions and mailed links, tells the nodes and writes the journal', async () => {
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

describe('rotate-signing-key.md', () => {
  test('removes the keys that were retired, and leaves the one that signs', async () => {
    expect(await wardkeep(service.database, ['rotate-signing-key'])).toMatchObject({ code: 0 })
    await service.database.sql(sqlOf('rotate-signing-key'))
    expect(await service.database.sql('select retired_at from signing_keys')).toEqual([
      { retired_at: null },
    ])
  })
})

describe('root-key.md', () => {
  test('lets the service start with a new root key once nothing is sealed any more', async () => {
    await enrol()
    const fresh = randomBytes(32)
    const rotate = () => wardkeep(service.database, ['rotate-signing-key'], fresh)
    expect(await rotate()).toMatchObject({ code: 1 })
    await service.database.sql('delete from signing_keys')
    expect(await rotate()).toMatchObject({ code: 1 })
    await service.database.sql(sqlOf('root-key'))
    expect(await rotate()).toMatchObject({ code: 0 })
    const [left] = await service.database.sql(
      `select (select count(*)::int from data_keys) as keys,
         (select count(*)::int from second_factors) as factors,
         (select count(*)::int from users where totp_enabled_at is not null) as users`,
    )
    expect(left).toEqual({ keys: 0, factors: 0, users: 0 })
    // Three processes are started one after another.
  })
})
