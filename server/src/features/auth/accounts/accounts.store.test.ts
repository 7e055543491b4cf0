/** Tests which accounts are found by e-mail address, with and without a tenant, and in which order. */
import { beforeAll, describe, expect, test } from 'vitest'
import { scopesOf } from '../../../../test/sessions/scopes.ts'
import { migratedDatabase, type TestDatabase } from '../../../../test/support/database.ts'
import type { Scopes, TenantTx } from '../../../platform/db/index.ts'
import type { AskedTenant } from '../../tenants/index.ts'
import { findAccounts, findCandidates } from './accounts.store.ts'

let database: TestDatabase
let db: Scopes
const tenants: Record<string, number> = {}

beforeAll(async () => {
  database = await migratedDatabase()
  db = scopesOf(database)
  for (const [name, fields] of Object.entries({
    north: 'is_active = true',
    south: 'is_active = true',
    closed: 'is_active = false',
    gone: 'deleted_at = now()',
  })) {
    const [row] = await database.sql<{ id: number }>(
      'insert into tenants (name, subdomain) values ($1, $1) returning id',
      [name],
    )
    tenants[name] = Number(row?.id)
    await database.sql(`update tenants set ${fields} where subdomain = $1`, [name])
  }
  for (const [email, tenant, isActive] of [
    ['Anna@clinic.test', 'north', true],
    ['both@clinic.test', 'north', true],
    ['both@clinic.test', 'south', true],
    ['moved@clinic.test', 'north', false],
    ['moved@clinic.test', 'south', true],
    ['blocked@clinic.test', 'north', false],
    ['shut@clinic.test', 'closed', true],
    ['gone@clinic.test', 'gone', true],
  ] as const)
    await database.sql(
      `insert into users (tenant_id, email, full_name, role, password_hash, is_active)
       values ($1, $2, $2, 'nurse', 'none', $3)`,
      [tenants[tenant], email, isActive],
    )
})

/** Returns the tenants of the accounts that a sign-in tries, in that order. */
async function found(email: string, tenant?: AskedTenant): Promise<(string | undefined)[]> {
  const now = new Date().toISOString()
  const asking = { email, network: '192.0.2.1', since: now, now, own: Buffer.alloc(32) }
  return namesOf(await db.acrossTenants((tx) => findCandidates(tx, tenant, asking), 'read'))
}

/**
 * Returns the tenants of the accounts with this address. `confirmed` selects the accounts whose address is confirmed or
 * unconfirmed.
 */
async function mailed(email: string, confirmed: boolean): Promise<(string | undefined)[]> {
  const find = (tx: TenantTx) => findAccounts(tx, email, undefined, { confirmed })
  return namesOf(await db.acrossTenants(find, 'read'))
}

const namesOf = (accounts: readonly { tenant_id: number }[]) =>
  accounts.map(({ tenant_id }) => nameOf(tenant_id))

test.each([
  ['anna@clinic.test', 'north', ['north']],
  ['both@clinic.test', 'south', ['south']],
  ['anna@clinic.test', 'south', []],
  ['anna@clinic.test', 'nowhere', []],
  // Also finds blocked accounts, so that a sign-in with the right password can report why it is refused.
  ['blocked@clinic.test', 'north', ['north']],
  ['shut@clinic.test', 'closed', ['closed']],
  ['gone@clinic.test', 'gone', []],
  ['anna%', 'north', []],
  ['', 'north', []],
])('a sign-in finds the account "%s" at the tenant %s: %j', async (email, subdomain, expected) => {
  expect(await found(email, { subdomain })).toEqual(expected)
})

test('a sign-in reads the tenant setting `require_totp`, but no other settings', async () => {
  await database.sql('update tenants set settings = $1 where subdomain = $2', [
    JSON.stringify({ require_totp: ['nurse'], notes: 'long'.repeat(10_000) }),
    'north',
  ])
  const [north, south] = await db.acrossTenants(
    (tx) => findAccounts(tx, 'both@clinic.test', undefined, { confirmed: false }),
    'read',
  )
  expect([north?.demanded, south?.demanded]).toEqual([['nurse'], null])
  expect(JSON.stringify(north).length).toBeLessThan(1_000)
})

describe('a search for accounts without a tenant', () => {
  test.each([
    ['anna@clinic.test', ['north']],
    ['both@clinic.test', ['north', 'south']],
    // Accounts that may not sign in are sorted last.
    ['moved@clinic.test', ['south', 'north']],
    ['blocked@clinic.test', ['north']],
    ['shut@clinic.test', ['closed']],
    ['gone@clinic.test', []],
  ])('finds the accounts of "%s" at the tenants %j', async (email, expected) => {
    expect(await found(email)).toEqual(expected)
  })

  test('returns an older confirmed account before newer accounts', async () => {
    const email = 'owner@clinic.test'
    for (let made = 0; made < 3; made += 1) await add(email, await newTenant(), 'now()')
    const [owner] = await database.sql<{ id: number }>(
      `update users set email_verified_at = now() where email = $1 and id =
        (select min(id) from users where email = $1) returning tenant_id as id`,
      [email],
    )
    const before = await found(email)
    expect(before[0]).toBe(nameOf(Number(owner?.id)))
    // Adds accounts with the same address in other tenants: two unconfirmed, one confirmed and one in a demo.
    for (const confirmed of ['null', 'null', 'now()'])
      await add(email, await newTenant(), confirmed)
    await add(email, await newTenant('is_demo = true'), 'now()')
    expect(await found(email)).toEqual(before)
  })

  test('returns demo accounts after real ones, and unconfirmed accounts last', async () => {
    const email = 'late@clinic.test'
    const [stranger, demo, owner] = [
      await newTenant(),
      await newTenant('is_demo = true'),
      await newTenant(),
    ]
    await add(email, stranger, 'null')
    await add(email, demo, 'now()')
    await add(email, owner, 'now()')
    expect(await found(email)).toEqual([owner, demo, stranger])
    expect(await mailed(email, false)).toEqual([stranger])
    expect(await mailed(email, true)).toEqual([owner, demo])
  })
})

test('a sign-in finds an account without a tenant name if there is only one tenant', async () => {
  expect(await found('anna@clinic.test', 'only')).toEqual([])
  await database.sql(`update tenants set deleted_at = now() where subdomain <> 'north'`)
  expect(await found('anna@clinic.test', 'only')).toEqual(['north'])
  expect(await found('nobody@clinic.test', 'only')).toEqual([])
})

const nameOf = (id: number) => Object.keys(tenants).find((name) => tenants[name] === id)

async function newTenant(fields = 'is_active = true'): Promise<string> {
  const name = `tenant-${Object.keys(tenants).length}`
  const [row] = await database.sql<{ id: number }>(
    'insert into tenants (name, subdomain) values ($1, $1) returning id',
    [name],
  )
  tenants[name] = Number(row?.id)
  await database.sql(`update tenants set ${fields} where subdomain = $1`, [name])
  return name
}

async function add(email: string, tenant: string, confirmed: string): Promise<void> {
  await database.sql(
    `insert into users (tenant_id, email, full_name, role, password_hash, email_verified_at)
     values ($1, $2, $2, 'nurse', 'none', ${confirmed})`,
    [tenants[tenant], email],
  )
}
