/** The SQL of the runbooks does on a real database what the runbook promises. */
import { randomBytes } from 'node:crypto'
import { hash } from '@node-rs/argon2'
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
  service = await openService()
  root = await superadmin(service)
})

/** The one SQL block of a runbook; lists there indent it. */
function sqlOf(runbook: string): string {
  const text = textOf(`docs/runbooks/${runbook}.md`).replaceAll(/^ {3}/gm, '')
  const blocks = blocksOf(text, 'sql')
  expect(blocks).toHaveLength(1)
  return blocks[0] as string
}

/** Runs a runbook's SQL about the superadmin, with what psql makes of `\\gset` and its variables. */
async function runByHand(runbook: string, hash = ''): Promise<void> {
  const [before = '', after = ''] = sqlOf(runbook).split('\\gset')
  const quote = (text: string) => `'${text.replaceAll("'", "''")}'`
  const opening = before.slice(0, before.indexOf('select'))
  const found = before
    .slice(opening.length)
    .replace(":'email'", quote(SUPERADMIN.email.toUpperCase()))
  const rows = await service.database.sql<{ id: number; tenant_id: number }>(found)
  expect(rows).toEqual([{ id: root.id, tenant_id: root.tenant_id }])
  const rest = after
    .replaceAll(":'hash'", quote(hash))
    .replaceAll(/:tenant_id\b/g, String(root.tenant_id))
    .replaceAll(/(?<!:):id\b/g, String(root.id))
  await service.database.sql(opening + rest)
}

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
  test('lets the superadmin sign in with the password alone, ends the sessions and writes the journal', async () => {
    await enrol()
    const body = { ...SUPERADMIN, subdomain: 'platform' }
    const login = () => service.call('POST', '/api/auth/login', { body })
    expect((await login()).body.code).toBe('totp_required')

    await runByHand('lost-second-factor')
    const { status, body: tokens } = await login()
    expect(status).toBe(200)
    const entries = await service.call('GET', '/api/admin/audit', {
      token: tokens.access_token,
      query: { action: 'auth.totp_disabled' },
    })
    expect(entries.body.items).toMatchObject([{ resource_id: String(root.id), user_id: null }])
    await untilSignedOut(root)
    root = { ...root, token: tokens.access_token }
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
    password = 'found-Again-Gate-42'
    await runByHand('lost-superadmin-password', await hash(password))

    await untilSignedOut(root)
    expect(await linksOf(root)).toEqual([])
    const login = await service.call('POST', '/api/auth/login', {
      body: { email, password, subdomain: 'platform' },
    })
    expect(login.status).toBe(200)
    const entries = await service.call('GET', '/api/admin/audit', {
      token: login.body.access_token,
      query: { action: 'user.password_changed' },
    })
    const { id, tenant_id } = root
    expect(entries.body.items).toMatchObject([{ resource_id: String(id), tenant_id }])
    root = { ...root, token: login.body.access_token }
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
