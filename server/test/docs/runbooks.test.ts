/** The SQL of the runbooks does on a real database what the runbook promises. */
import { randomBytes } from 'node:crypto'
import { hash } from '@node-rs/argon2'
import { beforeAll, describe, expect, test } from 'vitest'
import { type Person, superadmin } from '../support/clinics.ts'
import { openService, type Service, SUPERADMIN } from '../support/service.ts'
import { wardkeep } from './command.ts'
import { blocksOf, textOf } from './documents.ts'

let service: Service
let root: Person

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

describe('lost-superadmin-password.md', () => {
  test('sets the password, ends the sessions, tells the nodes and writes the journal', async () => {
    const password = 'found-Again-Gate-42'
    // What psql does with `\gset` and its variables.
    const [before = '', after = ''] = sqlOf('lost-superadmin-password').split('\\gset')
    const quote = (text: string) => `'${text.replaceAll("'", "''")}'`
    const found = before
      .slice(before.indexOf('select'))
      .replace(":'email'", quote(SUPERADMIN.email.toUpperCase()))
    const [{ id, tenant_id } = { id: 0, tenant_id: 0 }] = await service.database.sql<{
      id: number
      tenant_id: number
    }>(found)
    expect({ id, tenant_id }).toEqual({ id: root.id, tenant_id: root.tenant_id })
    const opening = before.slice(0, before.indexOf('select'))
    const rest = after
      .replaceAll(":'hash'", quote(await hash(password)))
      .replaceAll(/:tenant_id\b/g, String(tenant_id))
      .replaceAll(/(?<!:):id\b/g, String(id))
    await service.database.sql(opening + rest)

    await expect
      .poll(
        async () => (await service.call('GET', '/api/users/me', { token: root.token })).status,
        { timeout: 10_000 },
      )
      .toBe(401)
    const login = await service.call('POST', '/api/auth/login', {
      body: { email: SUPERADMIN.email, password, subdomain: 'platform' },
    })
    expect(login.status).toBe(200)
    const entries = await service.call('GET', '/api/admin/audit', {
      token: login.body.access_token,
      query: { action: 'user.password_changed' },
    })
    expect(entries.body.items).toMatchObject([{ resource_id: String(id), tenant_id }])
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
  test('lets the service start with a new root key once the sealed keys are gone', async () => {
    const fresh = randomBytes(32)
    const rotate = () => wardkeep(service.database, ['rotate-signing-key'], fresh)
    expect(await rotate()).toMatchObject({ code: 1 })
    await service.database.sql(sqlOf('root-key'))
    expect(await rotate()).toMatchObject({ code: 0 })
  })
})
