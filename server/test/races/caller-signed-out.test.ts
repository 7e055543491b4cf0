/** Commands that wait for their record while their caller is signed out. The commands change nothing and get 401. */
import { beforeAll, expect, test } from 'vitest'
import { alignClock, enable, offered } from '../second-factor/enrol.ts'
import { fresh, jtiOf, newColleague, newPerson } from '../sessions/users.ts'
import { codeOf } from '../support/accounts.ts'
import { type Clinic, makeClinic, PASSWORD, type Person, superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'
import { signOutMeanwhile } from './race.ts'

let service: Service
let root: Person
let clinic: Clinic
let deletedTenantId: number

beforeAll(async () => {
  service = await openService()
  root = await superadmin(service)
  clinic = await makeClinic(service, root, 'north')
  const rows = await service.database.sql<{ id: number }>(
    `insert into tenants (name, subdomain, deleted_at) values ('Gone', 'gone', now()) returning id`,
  )
  deletedTenantId = rows[0]?.id as number
})

const entriesBy = ({ id }: Person) =>
  service.database.sql(`select action from journal where user_id = $1 and action <> 'auth.login'`, [
    id,
  ])

const operator = () =>
  newPerson(service, root, { tenantId: root.tenant_id, subdomain: 'platform', role: 'superadmin' })

test('a blocked user cannot remove the block with a request that was already running', async () => {
  const caller = await newColleague(service, clinic, 'admin')
  const path = `/api/admin/users/${caller.id}/unblock`
  const answer = await signOutMeanwhile(service, caller, ['users', caller.id], () =>
    service.call('POST', path, { token: caller.token }),
  )
  expect(answer).toMatchObject({ status: 401, body: { code: 'invalid_token' } })
  expect(answer.headers['www-authenticate']).toContain('invalid_token')
  const [user] = await service.database.sql('select is_active from users where id = $1', [
    caller.id,
  ])
  expect(user).toEqual({ is_active: false })
  expect(await entriesBy(caller)).toEqual([])
})

/** The caller, and another user of the clinic. */
interface Scene {
  caller: Person
  colleague: Person
}

type Wait = (scene: Scene) => [table: string, id: number]
type Command = [method: string, path: string, body?: object | undefined]

const onColleague: Wait = ({ colleague }) => ['users', colleague.id]
const onTenant: Wait = () => ['tenants', clinic.id]
const onSelf: Wait = ({ caller }) => ['users', caller.id]

const COMMANDS: Record<string, [wait: Wait, command: (scene: Scene) => Command]> = {
  createUser: [
    onTenant,
    () => [
      'POST',
      '/api/admin/users',
      {
        email: `${fresh('late')}@north.test`,
        password: PASSWORD,
        full_name: 'Late',
        role: 'nurse',
        tenant_id: clinic.id,
      },
    ],
  ],
  updateUser: [onColleague, ofColleague('PUT', '', { full_name: 'Other' })],
  inviteUser: [onColleague, ofColleague('POST', '/invitation')],
  deleteUser: [onColleague, ofColleague('DELETE', '')],
  blockUser: [onColleague, ofColleague('POST', '/block')],
  changeUserRole: [onColleague, ofColleague('PUT', '/role', { role: 'nurse' })],
  resetUserPassword: [onColleague, ofColleague('PUT', '/password', { password: 'late-Horse-81' })],
  removeUserTotp: [onColleague, ofColleague('DELETE', '/totp')],
  endUserSessions: [onColleague, ofColleague('DELETE', '/sessions')],
  endUserSession: [
    onColleague,
    (scene) => ofColleague('DELETE', `/sessions/${jtiOf(scene.colleague.token)}`)(scene),
  ],
  changeOwnPassword: [
    onSelf,
    () => [
      'PUT',
      '/api/users/me/password',
      { current_password: PASSWORD, new_password: 'late-Horse-81' },
    ],
  ],
  updateTenant: [onTenant, () => ['PUT', `/api/admin/tenants/${clinic.id}`, { name: fresh('n') }]],
  deleteTenant: [onTenant, () => ['DELETE', `/api/admin/tenants/${clinic.id}`]],
  restoreTenant: [
    () => ['tenants', deletedTenantId],
    () => ['POST', `/api/admin/tenants/${deletedTenantId}/restore`],
  ],
  createDepartment: [
    onTenant,
    () => ['POST', '/api/admin/departments', { name: fresh('late'), tenant_id: clinic.id }],
  ],
  deleteDepartment: [
    () => ['departments', clinic.departmentId],
    () => ['DELETE', `/api/admin/departments/${clinic.departmentId}`],
  ],
  updateDepartment: [
    () => ['departments', clinic.departmentId],
    () => ['PUT', `/api/admin/departments/${clinic.departmentId}`, { name: fresh('late') }],
  ],
}

function ofColleague(method: string, path: string, body?: object) {
  return ({ colleague }: Scene): Command => [
    method,
    `/api/admin/users/${colleague.id}${path}`,
    body,
  ]
}

test.each(Object.entries(COMMANDS))(
  'a caller who is signed out while the request waits is refused: %s',
  async (_, [wait, command]) => {
    const scene = { caller: await operator(), colleague: await newColleague(service, clinic) }
    // Only a user whose address is unconfirmed can be invited.
    await service.database.sql('update users set email_verified_at = null where id = $1', [
      scene.colleague.id,
    ])
    const [method, path, body] = command(scene)
    const answer = await signOutMeanwhile(service, scene.caller, wait(scene), () =>
      service.call(method, path, { token: scene.caller.token, ...(body ? { body } : {}) }),
    )
    expect(answer).toMatchObject({ status: 401, body: { code: 'invalid_token' } })
    expect(await entriesBy(scene.caller)).toEqual([])
  },
)

test('a caller who is signed out while the request waits neither sets up nor removes a second factor', async () => {
  const caller = await newColleague(service, clinic)
  const meanwhile = (path: string, body: object) =>
    signOutMeanwhile(service, caller, ['users', caller.id], () =>
      service.call('POST', `/api/auth/totp/${path}`, { token: caller.token, body }),
    )
  alignClock(service)
  const secret = await offered(service, caller.token)
  const code = codeOf(service, secret)
  expect(await meanwhile('enable', { code })).toMatchObject({ status: 401 })
  // Restores the user. The node was not notified of the block either.
  await service.database.sql('update users set is_active = true where id = $1', [caller.id])
  await service.database.sql('update sessions set ended_at = null where user_id = $1', [caller.id])
  expect((await enable(service, caller.token, codeOf(service, secret))).status).toBe(200)
  expect(await meanwhile('disable', { password: PASSWORD })).toMatchObject({ status: 401 })
  const [user] = await service.database.sql(
    'select totp_enabled_at is not null as enrolled from users where id = $1',
    [caller.id],
  )
  expect(user).toEqual({ enrolled: true })
})

test('a caller signed out while a request waits does not confirm the console session', async () => {
  const caller = await newColleague(service, clinic)
  const { email, id } = caller
  const body = { email, password: PASSWORD, subdomain: clinic.subdomain }
  const signedIn = await service.call('POST', '/api/console/session', { body })
  const answer = await signOutMeanwhile(service, caller, ['users', id], () =>
    service.call('POST', '/api/console/session/confirm', {
      token: signedIn.body.access_token,
      body: { password: PASSWORD },
    }),
  )
  expect(answer).toMatchObject({ status: 401, body: { code: 'invalid_token' } })
  expect(await entriesBy(caller)).toEqual([])
})

test('a request that waits for no record, such as createTenant, also checks that the session is still active', async () => {
  const { id, token } = await operator()
  await service.call('GET', '/api/users/me', { token })
  // Notifies no node, so this node still considers the session active.
  await service.database.sql('update sessions set ended_at = now() where user_id = $1', [id])
  const body = { name: 'Late', subdomain: fresh('late') }
  const answer = await service.call('POST', '/api/admin/tenants', { token, body })
  expect(answer).toMatchObject({ status: 401, body: { code: 'invalid_token' } })
})
