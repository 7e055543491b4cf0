/** Whose account an e-mail address means, with a tenant that is named and without. */
import { beforeAll, describe, expect, test } from 'vitest'
import { scopesOf } from '../../../../test/sessions/scopes.ts'
import { migratedDatabase, type TestDatabase } from '../../../../test/support/database.ts'
import { accountLocator, type Locate } from './locate.ts'

let database: TestDatabase
let locate: Locate
const tenants: Record<string, number> = {}

beforeAll(async () => {
  database = await migratedDatabase()
  locate = accountLocator(scopesOf(database), false)
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

/** Where the account was found; null when it was not. */
async function found(email: string, subdomain?: string): Promise<string | null> {
  const { account } = await locate(email, subdomain)
  if (!account) return null
  return Object.keys(tenants).find((name) => tenants[name] === account.tenant_id) ?? 'elsewhere'
}

describe('with the tenant named', () => {
  test.each([
    ['anna@clinic.test', 'north', 'north'],
    ['ANNA@CLINIC.TEST', 'NORTH', 'north'],
    ['both@clinic.test', 'south', 'south'],
    ['anna@clinic.test', 'south', null],
    ['anna@clinic.test', 'nowhere', null],
    // Found, for sign-in to say after the right password why it may not be.
    ['blocked@clinic.test', 'north', 'north'],
    ['shut@clinic.test', 'closed', 'closed'],
    ['gone@clinic.test', 'gone', null],
    ['anna%', 'north', null],
    ['', 'north', null],
  ])('"%s" at %s is found at %s', async (email, subdomain, expected) => {
    expect(await found(email, subdomain)).toBe(expected)
  })

  test('the tenant is known without any account, an unknown one is none', async () => {
    for (const email of ['anna@clinic.test', 'nobody@clinic.test'])
      expect(await locate(email, 'north')).toMatchObject({
        namedTenantId: tenants.north,
        tenantId: tenants.north,
      })
    expect(await locate('anna@clinic.test', 'nowhere')).toEqual({
      namedTenantId: null,
      tenantId: null,
      account: undefined,
    })
  })
})

describe('without a tenant', () => {
  test.each([
    ['anna@clinic.test', 'north'],
    ['both@clinic.test', null],
    ['moved@clinic.test', 'south'],
    ['blocked@clinic.test', null],
    ['shut@clinic.test', null],
    ['gone@clinic.test', null],
  ])('"%s" is found at %s: the only active account of the address', async (email, expected) => {
    expect(await found(email)).toBe(expected)
  })

  test('the tenant of what was found is not one that was named', async () => {
    expect(await locate('anna@clinic.test', undefined)).toMatchObject({
      namedTenantId: null,
      tenantId: tenants.north,
    })
  })
})

test('where there is one tenant only, it need not be named', async () => {
  await database.sql(`update tenants set deleted_at = now() where subdomain in ('south', 'closed')`)
  const single = accountLocator(scopesOf(database), true)
  for (const subdomain of [undefined, 'north'])
    expect(await single('anna@clinic.test', subdomain)).toMatchObject({
      namedTenantId: tenants.north,
      account: { email: 'Anna@clinic.test' },
    })
  expect((await single('nobody@clinic.test', undefined)).namedTenantId).toBe(tenants.north)
})
