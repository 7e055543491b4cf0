/** Nodes that start together on an empty database. Each initial record is created once. */
import { beforeAll, expect, test } from 'vitest'
import { standing } from '../sessions/users.ts'
import { superadmin } from '../support/clinics.ts'
import { migratedDatabase, type TestDatabase } from '../support/database.ts'
import { openService, type Service } from '../support/service.ts'
import { atOnce } from './race.ts'

let database: TestDatabase
let nodes: Service[]

beforeAll(async () => {
  database = await migratedDatabase()
  nodes = await atOnce(() => openService({ database, config: { DEMO: true } }), 4)
})

test('concurrent first starts create one platform tenant with one superadmin, and one demo clinic', async () => {
  const tenants = await database.sql(
    `select t.subdomain, count(u.*) as users, count(*) filter (where role = 'superadmin') as superadmins,
       (select count(*) from departments d where d.tenant_id = t.id) as departments,
       (select count(*) from patients p where p.tenant_id = t.id) as patients
     from tenants t left join users u on u.tenant_id = t.id group by t.id order by subdomain`,
  )
  expect(tenants).toEqual([
    { subdomain: 'demo', users: 6, superadmins: 0, departments: 3, patients: 200 },
    { subdomain: 'platform', users: 1, superadmins: 1, departments: 0, patients: 0 },
  ])
})

test('concurrent first starts journal each creation once', async () => {
  const entries = await database.sql(
    `select action, count(*) as times from journal group by action order by action`,
  )
  expect(entries).toEqual([
    { action: 'auth.key_rotated', times: 1 },
    { action: 'tenant.created', times: 2 },
    { action: 'user.created', times: 1 },
  ])
})

test('all nodes sign with one key after concurrent first starts, so tokens are valid on each node', async () => {
  expect(await database.sql('select 1 from signing_keys')).toHaveLength(1)
  expect(new Set(nodes.map(({ app }) => app.features.auth.keys.signer().kid)).size).toBe(1)
  for (const node of nodes) {
    const { token } = await superadmin(node)
    for (const other of nodes) expect(await standing(other, token)).toBe(200)
  }
})
