/** The demo clinic is created once. It is not created again if it was deleted, or if its name is in use. */
import { beforeAll, expect, test } from 'vitest'
import { purgeClinic } from '../backups/support.ts'
import { superadmin } from '../support/clinics.ts'
import { migratedDatabase, type TestDatabase } from '../support/database.ts'
import { openService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await migratedDatabase()
})

/** Starts the service on the database. Returns its log messages. */
async function start(on = database): Promise<{ service: Service; said: string }> {
  const service = await openService({ database: on, config: { DEMO: true } })
  const say = await service.app.setUp(() => undefined)
  return { service, said: say('http://127.0.0.1:8080') }
}
const demos = (on = database) =>
  on.sql<{ id: number }>(`select id::int, deleted_at is null as lives from tenants
    where subdomain = 'demo'`)

test('the second start keeps the demo clinic, and prints its accounts again', async () => {
  const first = await start()
  expect(first.said).toContain('admin@demo.local')
  await first.service.close()
  const { service, said } = await start()
  expect(said).toContain('admin@demo.local')
  expect(await demos()).toHaveLength(1)
  await service.close()
})

test('a deleted demo clinic is not created again, and its accounts are not printed', async () => {
  const { service } = await start()
  const { token } = await superadmin(service)
  const [{ id } = { id: 0 }] = await demos()
  expect((await service.call('DELETE', `/api/admin/tenants/${id}`, { token })).status).toBe(204)
  await service.close()
  const next = await start()
  expect(next.said).not.toContain('demo')
  expect(await demos()).toEqual([{ id, lives: false }])
  await purgeClinic(next.service, id)
  await next.service.close()
  const last = await start()
  expect(last.said).not.toContain('demo')
  expect(await demos()).toEqual([])
})

test('no demo password is printed for another clinic with the subdomain demo', async () => {
  const other = await migratedDatabase()
  const service = await openService({ database: other })
  const { token } = await superadmin(service)
  const body = { name: 'Demosthenes', subdomain: 'demo' }
  expect((await service.call('POST', '/api/admin/tenants', { token, body })).status).toBe(201)
  await service.close()
  const { said } = await start(other)
  expect(said).not.toContain('try-Wardkeep')
  expect(await demos(other)).toHaveLength(1)
})

test('startup in production is refused while a demo clinic allows sign-ins', async () => {
  const production = await migratedDatabase()
  const { service } = await start(production)
  const starting = () =>
    openService({
      database: production,
      config: { NODE_ENV: 'production', DEMO: false },
    })
  await expect(starting()).rejects.toThrow(/^NODE_ENV: the database contains the demo clinic/)
  const { token } = await superadmin(service)
  const [{ id } = { id: 0 }] = await demos(production)
  const body = { is_active: false }
  expect((await service.call('PUT', `/api/admin/tenants/${id}`, { token, body })).status).toBe(200)
  await starting()
})

test('every node reports the demo clinic in its capabilities while users of the demo clinic can sign in', async () => {
  const database = await migratedDatabase()
  const nodes = [(await start(database)).service, (await start(database)).service]
  const told = () =>
    Promise.all(
      nodes.map(async (node) => (await node.call('GET', '/api/auth/capabilities')).body.demo_mode),
    )
  expect(await told()).toEqual([true, true])
  const [node] = nodes
  if (!node) throw new Error('two were started')
  const { token } = await superadmin(node)
  const [{ id } = { id: 0 }] = await demos(database)
  const path = `/api/admin/tenants/${id}`
  expect((await node.call('PUT', path, { token, body: { is_active: false } })).status).toBe(200)
  await until('all know', async () => (await told()).every((one) => !one) || undefined)
  expect((await node.call('PUT', path, { token, body: { is_active: true } })).status).toBe(200)
  await until('all know', async () => (await told()).every((one) => one) || undefined)
})
