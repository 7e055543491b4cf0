/**
 * The end of a session takes effect at once on its node, and after a notification on all others. `session-cache.test.ts` tests
 * nodes without notifications.
 */
import { beforeAll, describe, expect, test } from 'vitest'
import { type Clinic, makeClinic, type Person, signIn, superadmin } from '../support/clinics.ts'
import { type Answer, openService, type Service } from '../support/service.ts'
import { eventually, fresh, jtiOf, newColleague, newPerson, refresh, standing } from './users.ts'

let here: Service
let others: [Service, Service]
let root: Person
let clinic: Clinic

beforeAll(async () => {
  here = await openService()
  const { database } = here
  others = [await openService({ database }), await openService({ database })]
  root = await superadmin(here)
  clinic = await makeClinic(here, root, 'north')
})

function admin(method: string, path: string, body?: object): Promise<Answer> {
  return here.call(method, path, { token: clinic.people.admin.token, ...(body ? { body } : {}) })
}

const ENDINGS: [string, (person: Person) => Promise<Answer>][] = [
  ['the user signs out', ({ token }) => here.call('POST', '/api/auth/logout', { token })],
  [
    'the user signs out everywhere',
    ({ token }) => here.call('POST', '/api/auth/logout', { token, body: { all_devices: true } }),
  ],
  [
    'the user ends the session',
    ({ token }) => here.call('DELETE', `/api/auth/sessions/${jtiOf(token)}`, { token }),
  ],
  [
    'the user changes the password',
    ({ token, password }) =>
      here.call('PUT', '/api/users/me/password', {
        token,
        body: { current_password: password, new_password: 'quite-Another-3' },
      }),
  ],
  [
    'an administrator ends the session',
    ({ id, token }) => admin('DELETE', `/api/admin/users/${id}/sessions/${jtiOf(token)}`),
  ],
  [
    'an administrator ends all sessions of the user',
    ({ id }) => admin('DELETE', `/api/admin/users/${id}/sessions`),
  ],
  ['the user is blocked', ({ id }) => admin('POST', `/api/admin/users/${id}/block`)],
  ['the user is deleted', ({ id }) => admin('DELETE', `/api/admin/users/${id}`)],
  [
    'the role changes',
    ({ id }) => admin('PUT', `/api/admin/users/${id}/role`, { role: 'receptionist' }),
  ],
  [
    'an administrator sets the password',
    ({ id }) => admin('PUT', `/api/admin/users/${id}/password`, { password: 'quite-Another-4' }),
  ],
]

/** Makes every node cache the session and then ends it. Waits until all nodes refuse it. */
async function expectEnd(person: Person, end: () => Promise<Answer>): Promise<void> {
  for (const node of [here, ...others]) expect(await standing(node, person.token)).toBe(200)
  expect([200, 204]).toContain((await end()).status)
  expect(await standing(here, person.token)).toBe(401)
  for (const node of others) {
    await eventually(
      () => standing(node, person.token),
      (status) => status === 401,
    )
    expect((await refresh(node, person.refresh)).status).toBe(401)
  }
}

describe('a session ends on all three nodes when', () => {
  test.each(ENDINGS)('%s', async (_, end) => {
    const person = await newColleague(here, clinic)
    await expectEnd(person, () => end(person))
    expect(await standing(here, clinic.people.nurse.token)).toBe(200)
  })

  test.each([
    ['deactivated', 'PUT', { is_active: false }],
    ['deleted', 'DELETE', undefined],
  ])('the tenant is %s', async (_, method, body) => {
    const subdomain = fresh('closing')
    const { id } = await makeClinic(here, root, subdomain)
    const person = await newPerson(here, root, { tenantId: id, subdomain })
    await expectEnd(person, () =>
      here.call(method, `/api/admin/tenants/${id}`, { token: root.token, body }),
    )
    for (const node of others) expect(await standing(node, root.token)).toBe(200)
  })

  test('one of its refresh tokens is used a second time', async () => {
    const person = await newColleague(here, clinic)
    await refresh(here, person.refresh)
    here.clock.advance(11_000)
    for (const node of others) expect(await standing(node, person.token)).toBe(200)
    await refresh(here, person.refresh)
    expect(await standing(here, person.token)).toBe(401)
    for (const node of others)
      await eventually(
        () => standing(node, person.token),
        (status) => status === 401,
      )
  })
})

describe('a change that does not end the session', () => {
  test('is visible on every node', async () => {
    const person = await newColleague(here, clinic)
    const name = async (node: Service) =>
      (await node.call('GET', '/api/users/me', { token: person.token })).body
    for (const node of others) expect((await name(node)).full_name).toBe(person.email)
    await admin('PUT', `/api/admin/users/${person.id}`, {
      full_name: 'Changed Name',
      department_id: clinic.departmentId,
    })
    const changed = { full_name: 'Changed Name', department_name: 'Surgery' }
    expect(await name(here)).toMatchObject(changed)
    for (const node of others)
      expect(
        await eventually(
          () => name(node),
          ({ full_name }) => full_name === 'Changed Name',
        ),
      ).toMatchObject(changed)
    await admin('PUT', `/api/admin/departments/${clinic.departmentId}`, { name: 'Operations' })
    for (const node of [here, ...others])
      await eventually(
        () => name(node),
        (shown) => shown.department_name === 'Operations',
      )
  })

  test('a removed block does not make ended sessions valid again; the user has to sign in', async () => {
    const person = await newColleague(here, clinic)
    await admin('POST', `/api/admin/users/${person.id}/block`)
    await admin('POST', `/api/admin/users/${person.id}/unblock`)
    expect(await standing(here, person.token)).toBe(401)
    for (const node of others) {
      await eventually(
        () => standing(node, person.token),
        (status) => status === 401,
      )
      const again = await signIn(node, { ...person, subdomain: 'north' })
      expect(await standing(here, again.access_token)).toBe(200)
    }
  })
})

test('signing out of all devices ends all two hundred sessions of a user', async () => {
  const person = await newColleague(here, clinic)
  await here.database.sql(
    `insert into sessions (id, tenant_id, user_id, created_at, last_used_at, idle_seconds, expires_at, absolute_expires_at)
     select gen_random_uuid(), $1, $2, now(), now(), 86400, now() + '1 day', now() + '1 day'
     from generate_series(1, 200)`,
    [clinic.id, person.id],
  )
  await expectEnd(person, () =>
    here.call('POST', '/api/auth/logout', { token: person.token, body: { all_devices: true } }),
  )
})
