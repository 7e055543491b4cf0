/** Sign-ins in progress while the account changes. They leave no session that the change should have ended. */
import { beforeAll, describe, expect, test } from 'vitest'
import { fresh, newColleague, newPerson, refresh, standing } from '../sessions/users.ts'
import { forgive } from '../support/accounts.ts'
import { type Clinic, makeClinic, PASSWORD, type Person, superadmin } from '../support/clinics.ts'
import { type Answer, openService, type Service } from '../support/service.ts'
import { atOnce } from './race.ts'

let service: Service
let root: Person
let clinic: Clinic

beforeAll(async () => {
  service = await openService()
  root = await superadmin(service)
  clinic = await makeClinic(service, root, 'north')
})

const ROUNDS = 5

describe('sixteen sign-ins in progress', () => {
  test('leave no session behind when the user is blocked', async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const person = await newColleague(service, clinic)
      const answers = await during(person, 'north', round * 3, () =>
        admin('POST', `/api/admin/users/${person.id}/block`),
      )
      expectStatuses(answers, [200, 401, 403])
      await expectOver(person, answers)
    }
  })

  test('leave no session behind when the password is reset', async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const person = await newColleague(service, clinic)
      const answers = await during(person, 'north', round * 3, () =>
        admin('PUT', `/api/admin/users/${person.id}/password`, { password: 'other-Horse-77' }),
      )
      expectStatuses(answers, [200, 401])
      await expectOver(person, answers)
    }
  })

  test('leave no session behind when the user is deleted', async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const person = await newColleague(service, clinic)
      const answers = await during(person, 'north', round * 3, () =>
        admin('DELETE', `/api/admin/users/${person.id}`),
      )
      expectStatuses(answers, [200, 401])
      await expectOver(person, answers)
    }
  })

  test.each([
    ['deactivated', 'PUT', { is_active: false }],
    ['deleted', 'DELETE', undefined],
  ])('leave no session behind when the tenant is %s', async (_, method, body) => {
    for (let round = 0; round < 3; round += 1) {
      const subdomain = fresh('closing')
      const other = await makeClinic(service, root, subdomain)
      const person = await newPerson(service, root, { tenantId: other.id, subdomain })
      const answers = await during(person, subdomain, round * 5, () =>
        service.call(method, `/api/admin/tenants/${other.id}`, { token: root.token, body }),
      )
      expectStatuses(answers, [200, 401, 403])
      await expectOver(person, answers)
    }
  })

  test('get only the new role when the role of the user changes', async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const person = await newColleague(service, clinic)
      const answers = await during(person, 'north', round * 3, () =>
        admin('PUT', `/api/admin/users/${person.id}/role`, { role: 'nurse' }),
      )
      expectStatuses(answers, [200, 401])
      expect(await standing(service, person.token)).toBe(401)
      for (const { body } of answers.filter(({ status }) => status === 200))
        if ((await standing(service, body.access_token)) === 200) expect(body.role).toBe('nurse')
    }
  })
})

/** Signs in 16 times during `change`, which starts after `head` of the sign-ins. */
async function during(
  { email }: Person,
  subdomain: string,
  head: number,
  change: () => Promise<Answer>,
): Promise<Answer[]> {
  // Failures of earlier rounds must not throttle this round.
  await forgive(service)
  const login = () =>
    service.call('POST', '/api/auth/login', { body: { email, password: PASSWORD, subdomain } })
  const before = atOnce(login, head)
  const changing = change()
  const after = atOnce(login, 16 - head)
  expect([200, 204]).toContain((await changing).status)
  return [...(await before), ...(await after)]
}

/** @param allowed the expected statuses. A 429 is always allowed, because it follows several failures. */
function expectStatuses(answers: Answer[], allowed: number[]): void {
  for (const { status } of answers) expect([...allowed, 429]).toContain(status)
}

async function expectOver(person: Person, answers: Answer[]): Promise<void> {
  const live = await service.database.sql(
    'select id from sessions where user_id = $1 and ended_at is null',
    [person.id],
  )
  expect(live).toEqual([])
  expect(await standing(service, person.token)).toBe(401)
  for (const { body } of answers.filter(({ status }) => status === 200)) {
    expect(await standing(service, body.access_token)).toBe(401)
    expect((await refresh(service, body.refresh_token)).status).toBe(401)
  }
}

function admin(method: string, path: string, body?: object): Promise<Answer> {
  return service.call(method, path, { token: clinic.people.admin.token, ...(body ? { body } : {}) })
}
