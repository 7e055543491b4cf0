/** Commands on a record whose tenant is deleted while they wait. They do not find the record, and change nothing. */
import { beforeAll, expect, test } from 'vitest'
import { fresh, jtiOf } from '../sessions/users.ts'
import { type Clinic, makeClinic, type Person, superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'
import { whileWaiting } from './race.ts'

let service: Service
let root: Person

beforeAll(async () => {
  service = await openService()
  root = await superadmin(service)
})

interface Case {
  /** The row that the command waits for. */
  row: (clinic: Clinic) => [table: string, id: number]
  command: (clinic: Clinic) => [method: string, path: string, body?: object | undefined]
}

const department: Case['row'] = ({ departmentId }) => ['departments', departmentId]

const CASES: Record<string, Case> = {
  createDepartment: {
    row: ({ id }) => ['tenants', id],
    command: ({ id }) => ['POST', '/api/admin/departments', { name: 'New', tenant_id: id }],
  },
  updateDepartment: {
    row: department,
    command: ({ departmentId }) => [
      'PUT',
      `/api/admin/departments/${departmentId}`,
      { name: 'Other' },
    ],
  },
  updateHeadOfDepartment: {
    row: department,
    command: ({ departmentId, people }) => [
      'PUT',
      `/api/admin/departments/${departmentId}`,
      { head_doctor_id: people.doctor.id },
    ],
  },
  deleteDepartment: {
    row: department,
    command: ({ departmentId }) => ['DELETE', `/api/admin/departments/${departmentId}`],
  },
  updateUser: onNurse('PUT', '', { full_name: 'Other' }),
  inviteUser: onNurse('POST', '/invitation'),
  deleteUser: onNurse('DELETE', ''),
  blockUser: onNurse('POST', '/block'),
  changeUserRole: onNurse('PUT', '/role', { role: 'doctor' }),
  resetUserPassword: onNurse('PUT', '/password', { password: 'late-Horse-81' }),
  removeUserTotp: onNurse('DELETE', '/totp'),
  endUserSessions: onNurse('DELETE', '/sessions'),
  endUserSession: {
    row: ({ people }) => ['users', people.nurse.id],
    command: ({ people: { nurse } }) => [
      'DELETE',
      `/api/admin/users/${nurse.id}/sessions/${jtiOf(nurse.token)}`,
    ],
  },
}

function onNurse(method: string, path: string, body?: object): Case {
  return {
    row: ({ people }) => ['users', people.nurse.id],
    command: ({ people }) => [method, `/api/admin/users/${people.nurse.id}${path}`, body],
  }
}

test.each(Object.entries(CASES))(
  'a request gets 404 if its tenant is deleted at the same time: %s',
  async (_, { row, command }) => {
    const clinic = await makeClinic(service, root, fresh('closing'))
    const [method, path, body] = command(clinic)
    // Only a user whose address is unconfirmed can be invited.
    await service.database.sql('update users set email_verified_at = null where id = $1', [
      clinic.people.nurse.id,
    ])
    const entries = () =>
      service.database.sql('select action from journal where tenant_id = $1 order by id', [
        clinic.id,
      ])
    const before = await entries()
    const answer = await whileWaiting(
      service,
      row(clinic),
      () => service.call(method, path, { token: root.token, ...(body ? { body } : {}) }),
      (other) => other.query('update tenants set deleted_at = now() where id = $1', [clinic.id]),
    )
    expect(answer).toMatchObject({ status: 404, body: { code: 'not_found' } })
    expect(await entries()).toEqual(before)
  },
)
