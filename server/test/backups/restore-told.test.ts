/** What of today's access a restore keeps is told. */
import { expect, test } from 'vitest'
import { enable, enrol, setUp } from '../second-factor/enrol.ts'
import { codeOf } from '../support/accounts.ts'
import { openRestoring } from './restoring.ts'
import { make } from './support.ts'

test('that a clinic demands second factors of others than it did', async () => {
  const { service, root, north, south, sql, restore } = await openRestoring()
  const demand = (id: number, settings: object) =>
    sql('update tenants set settings = $2 where id = $1', [id, JSON.stringify(settings)])
  await demand(north.id, { require_totp: ['nurse'], colour: 'blue' })
  await demand(south.id, { require_totp: ['nurse'] })
  const backup_id = await make(service, root)
  await demand(north.id, { require_totp: ['nurse', 'doctor'] })
  const { access } = await restore(root, { backup_id })
  expect(access.cases).toEqual([{ table: 'tenants', id: north.id, fields: ['require_totp'] }])
  const [{ settings }] = await sql('select settings from tenants where id = $1', [north.id])
  expect(settings).toEqual({ require_totp: ['nurse', 'doctor'], colour: 'blue' })
})

test('that a second factor was replaced', async () => {
  const { service, root, north, again, call, restore } = await openRestoring()
  const { doctor, nurse } = north.people
  await enrol(service, nurse.token)
  await enrol(service, doctor.token)
  const backup_id = await make(service, root)
  expect((await call(root, 'DELETE', `/api/admin/users/${doctor.id}/totp`)).status).toBe(204)
  const { token } = await again(doctor, 'north')
  const { secret } = (await setUp(service, token)).body
  expect((await enable(service, token, codeOf(service, secret))).status).toBe(200)
  const { access } = await restore(root, { backup_id })
  expect(access.cases).toEqual([{ table: 'users', id: doctor.id, fields: ['second_factor'] }])
})
