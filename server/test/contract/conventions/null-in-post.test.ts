/** In the body of a POST, null in an optional field has the same effect as omitting it (decisions §1). */
import { beforeAll, expect, test } from 'vitest'
import {
  type Clinic,
  makeClinic,
  type Person,
  superadmin,
  tokenFor,
} from '../../support/clinics.ts'
import { openService, type Service } from '../../support/service.ts'

let service: Service
let root: Person
let clinic: Clinic

beforeAll(async () => {
  service = await openService()
  root = await superadmin(service)
  clinic = await makeClinic(service, root, 'nulls')
})

interface Fields {
  properties?: Record<string, Fields>
  required?: string[]
  items?: Fields
}

/** Returns a body with null in every optional field, including those of objects in lists. */
function nullsOf({ properties = {}, required = [] }: Fields): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(properties)
      .filter(([name, schema]) => !required.includes(name) || 'default' in schema)
      .map(([name]) => [name, null]),
  )
}

test('every POST operation treats a field with null like an omitted field', async () => {
  const posts = service.app.operations.filter(
    ({ method, body }) => method === 'POST' && (body as Fields | undefined)?.properties,
  )
  expect(posts.length).toBeGreaterThan(20)
  // Signs out last, because signing out ends the session of the other calls.
  for (const op of posts.toSorted(
    (a, b) => Number(a.id === 'logout') - Number(b.id === 'logout'),
  )) {
    const token = tokenFor(op, root, clinic)
    // Uses an unknown ID, so that the operations have no effect.
    const send = (body: object) =>
      service.call(op.method, op.path.replaceAll(/\{\w+\}/g, '999999'), { token, body })
    const faults = ({ status, body }: { status: number; body: { detail?: unknown } }) => [
      op.id,
      status === 422 ? body.detail : 'taken',
    ]
    expect(faults(await send(nullsOf(op.body as Fields)))).toEqual(faults(await send({})))
  }
})

test('nested optional fields may also be null', async () => {
  const made = await service.call('POST', '/api/admin/tenants', {
    token: (await superadmin(service)).token,
    body: { name: 'Nested', subdomain: 'nested', settings: { registration: null, own: null } },
  })
  expect(made).toMatchObject({ status: 201, body: { settings: { own: null } } })
  expect(made.body.settings).not.toHaveProperty('registration')
})

test('a PUT operation refuses null for a field that cannot be cleared', async () => {
  const { status, body } = await service.call('PUT', '/api/preferences', {
    token: clinic.people.nurse.token,
    body: { theme: null },
  })
  expect([status, body.detail[0].loc]).toEqual([422, ['body', 'theme']])
})
