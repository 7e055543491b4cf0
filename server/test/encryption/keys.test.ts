/** The description of the keys: their ages and numbers, and the records on old keys, without any key. */
import { beforeAll, describe, expect, it } from 'vitest'
import { makeClinic, type Person, superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'

let service: Service
let root: Person

beforeAll(async () => {
  service = await openService({ background: ['encryption'] })
  root = await superadmin(service)
  const { people } = await makeClinic(service, root, 'north')
  const patient = { full_name: 'Paula Patient', department_id: null }
  await service.call('POST', '/api/patients', { token: people.admin.token, body: patient })
})

const ask = async (path: string) =>
  (await service.call('GET', `/api/admin/encryption${path}`, { token: root.token })).body

describe('the description of the keys', () => {
  it('has the age and the number of the keys, and shows that a rotation leaves nothing on old keys', async () => {
    const before = await ask('/keys')
    expect(before).toEqual({
      root_key: {
        fingerprint: expect.stringMatching(/^[0-9a-f]{16}$/),
        created_at: expect.any(String),
        former: 0,
      },
      key_encryption_key: {
        key_id: expect.any(Number),
        created_at: expect.any(String),
        retired: 0,
        destroyed: 0,
        last_destroyed_at: null,
      },
      data_keys: {
        current: expect.any(Number),
        oldest_created_at: expect.any(String),
        retired: 0,
        destroyed: 0,
        last_destroyed_at: null,
      },
      records_on_old_keys: 0,
    })
    const path = '/api/admin/encryption/rotate'
    await service.call('POST', path, { token: root.token, body: {} })
    await until('the rotation has ended', async () => {
      const { status } = await ask('/status')
      return status === 'completed' || undefined
    })
    const after = await ask('/keys')
    expect(after).toMatchObject({
      root_key: before.root_key,
      key_encryption_key: { retired: 0, destroyed: 1, last_destroyed_at: expect.any(String) },
      data_keys: { current: before.data_keys.current, retired: 0, destroyed: expect.any(Number) },
      records_on_old_keys: 0,
    })
    expect(after.key_encryption_key.key_id).toBeGreaterThan(before.key_encryption_key.key_id)
    expect(after.data_keys.destroyed).toBeGreaterThan(0)
  })

  it('counts the records that retired keys still encrypt', async () => {
    await service.database.sql('update data_keys set retired_at = now()')
    const { data_keys, records_on_old_keys } = await ask('/keys')
    expect(records_on_old_keys).toBeGreaterThan(0)
    expect(data_keys).toMatchObject({ current: 0, oldest_created_at: null })
  })
})
