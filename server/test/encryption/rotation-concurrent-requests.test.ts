/** Users read, search and write while keys rotate. No request is refused, and no data is lost. */
import { expect, test } from 'vitest'
import { openPatientScene } from '../patients/scene.ts'
import { forgive } from '../support/accounts.ts'
import { superadmin } from '../support/clinics.ts'
import { openService } from '../support/service.ts'

test('records written during a rotation are kept, are found by search, and still conflict with duplicates', async () => {
  const service = await openService({ background: ['encryption', 'jobs'] })
  const other = await openService({
    background: ['encryption', 'jobs'],
    database: service.database,
  })
  const scene = await openPatientScene(service)
  const root = await superadmin(service)
  const system = 'ward'
  const ids: number[] = []
  for (let made = 0; made < 120; made += 1) {
    const fields = { full_name: `Paula Old${made}`, identifiers: [{ system, value: `v${made}` }] }
    ids.push((await scene.patient(fields)).id)
  }
  const { token } = scene.clinic.people.admin
  const write = async (writer: number) => {
    const node = writer % 2 ? service : other
    const codes = new Set<number>()
    for (let index = writer; index < ids.length; index += 8) {
      const path = `/api/patients/${ids[index]}`
      const body = { full_name: `Paula New${index}` }
      codes.add((await node.call('PUT', path, { token, body })).status)
      const double = { full_name: 'Paula Double', identifiers: [{ system, value: `v${index}` }] }
      // Resets the throttles, because this many refused sign-ins would be throttled.
      await forgive(service)
      codes.add((await node.call('POST', '/api/patients', { token, body: double })).status)
    }
    return [...codes].sort()
  }
  const versions = () =>
    service.database.sql('select id, version, updated_at from patients order by id')
  const rotated = () => service.call('GET', '/api/admin/encryption/status', { token: root.token })
  const asked = service.call('POST', '/api/admin/encryption/rotate', {
    token: root.token,
    body: {},
  })
  const codes = await Promise.all(Array.from({ length: 8 }, (_, writer) => write(writer)))
  expect((await asked).status).toBe(200)
  for (const seen of codes) expect(seen).toEqual([200, 409])
  const written = await versions()
  await expect
    .poll(async () => (await rotated()).body.status, { timeout: 30_000, interval: 200 })
    .toBe('completed')
  expect(await versions()).toEqual(written)

  for (const [index, id] of ids.entries()) {
    const search = { search: `v${index}` }
    const found = await other.call('POST', '/api/patients/search', { token, body: search })
    expect(found.body.items).toMatchObject([{ id, full_name: `Paula New${index}` }])
  }
  const [left] = await service.database.sql(
    `select count(*)::int as count from patient_tokens t join data_keys k on k.id = t.data_key_id
     where k.retired_at is not null`,
  )
  expect(left).toEqual({ count: 0 })
})
