/** The size of the journal entries about a tenant's settings. */
import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { makeClinic, superadmin } from '../support/clinics.ts'
import { openService } from '../support/service.ts'

test('twenty changes to settings of 60 KB need less space in the journal than one copy of the settings', async () => {
  const service = await openService()
  const clinic = await makeClinic(service, await superadmin(service), 'spacious')
  const { token } = clinic.people.admin
  const put = (settings: object) =>
    service.call('PUT', `/api/admin/tenants/${clinic.id}`, { token, body: { settings } })
  for (let time = 0; time < 20; time += 1) {
    const long = { time, blob: randomBytes(30_000).toString('hex') }
    const many = Object.fromEntries(
      Array.from({ length: 5_000 }, (_, key) => [`k${key}`, time + key]),
    )
    expect((await put(time % 2 ? long : many)).status).toBe(200)
  }
  const [kept] = await service.database.sql<{ entries: number; bytes: number }>(
    `select count(*) as entries, sum(octet_length(changes::text)) as bytes from journal
     where action = 'tenant.updated' and resource_id = $1`,
    [String(clinic.id)],
  )
  expect(kept?.entries).toBe(20)
  expect(kept?.bytes).toBeLessThan(12_000)
})

test('the journal entry of a settings change contains the changed keys and their values before and after', async () => {
  const service = await openService()
  const clinic = await makeClinic(service, await superadmin(service), 'sparse')
  const { token } = clinic.people.admin
  for (const settings of [
    { listed: true, hours: '8-18', logo: 'x'.repeat(5_000) },
    { listed: false, hours: '8-18', logo: 'x'.repeat(5_000) },
  ])
    await service.call('PUT', `/api/admin/tenants/${clinic.id}`, { token, body: { settings } })
  const { items } = (
    await service.call('GET', '/api/admin/audit', {
      token,
      query: { resource_type: 'tenant', resource_id: clinic.id, limit: 1 },
    })
  ).body
  expect(items[0].changes).toEqual({
    before: { settings: { listed: true } },
    after: { settings: { listed: false } },
  })
})
