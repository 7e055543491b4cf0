/** The sessions of a user as an administrator: listing and ending them. */
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { DAY } from '../../src/lib/clock.ts'
import { type Clinic, makeClinic, type Person, signIn, superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'
import { jtiOf, newColleague, newPerson, refresh, renewAdmin, standing } from './users.ts'

let service: Service
let root: Person
let clinic: Clinic
let other: Clinic
let person: Person

beforeAll(async () => {
  service = await openService()
  root = await superadmin(service)
  clinic = await makeClinic(service, root, 'north')
  other = await makeClinic(service, root, 'south')
})

beforeEach(async () => {
  await renewAdmin(service, clinic)
  person = await newColleague(service, clinic)
})

const call = (method: string, path: string, by: Person = clinic.people.admin) =>
  service.call(method, `/api/admin/users/${path}`, { token: by.token })
const list = async (id: number, by?: Person) => (await call('GET', `${id}/sessions`, by)).body
const again = () => signIn(service, { ...person, subdomain: 'north' })

/** Returns the superadmin with a fresh token, because tests advance the clock. */
const freshOperator = async (): Promise<Person> => {
  const { access_token: token } = await signIn(service, { ...root, subdomain: 'platform' })
  return { ...root, token }
}

const entriesAbout = ({ id }: Person) =>
  service.database.sql(
    `select user_id, resource_type, changes from journal
     where action = 'user.sessions_ended' and resource_id = $1 order by id`,
    [String(id)],
  )

describe("an administrator's list of a user's sessions", () => {
  it('contains the sessions that the user sees, and marks none of them as current', async () => {
    await again()
    const { body: own } = await service.call('GET', '/api/auth/sessions', { token: person.token })
    expect(own).toHaveLength(2)
    const shown = own.map((session: object) => ({ ...session, current: false }))
    expect(await list(person.id)).toEqual(shown)
  })

  it("marks the caller's own session as current", async () => {
    const { admin } = clinic.people
    const current = (await list(admin.id)).filter(
      (session: { current: boolean }) => session.current,
    )
    expect(current).toMatchObject([{ jti: jtiOf(admin.token) }])
  })

  it('omits ended and expired sessions', async () => {
    await service.call('POST', '/api/auth/logout', { token: person.token })
    expect(await list(person.id)).toEqual([])
    const colleague = await newColleague(service, clinic)
    service.clock.advance(15 * DAY)
    await renewAdmin(service, clinic)
    expect(await list(colleague.id)).toEqual([])
  })

  it('shows a superadmin the sessions of every tenant', async () => {
    const operator = await freshOperator()
    expect(await list(person.id, operator)).toMatchObject([{ jti: jtiOf(person.token) }])
  })
})

describe('an administrator who ends sessions of a user', () => {
  it('can end one session, and the other sessions continue', async () => {
    const { access_token, refresh_token } = await again()
    const jti = jtiOf(access_token)
    expect((await call('DELETE', `${person.id}/sessions/${jti}`)).status).toBe(204)
    expect(await standing(service, access_token)).toBe(401)
    expect((await refresh(service, refresh_token)).status).toBe(401)
    expect(await standing(service, person.token)).toBe(200)
    expect(await entriesAbout(person)).toEqual([
      {
        user_id: clinic.people.admin.id,
        resource_type: 'user',
        changes: { sessions: 1, session_id: jti },
      },
    ])
    expect((await call('DELETE', `${person.id}/sessions/${jti}`)).status).toBe(404)
  })

  it('can end all sessions and gets their number, and the user can sign in again', async () => {
    const { access_token } = await again()
    const answer = await call('DELETE', `${person.id}/sessions`)
    expect(answer).toMatchObject({ status: 200, body: { ended: 2 } })
    for (const token of [person.token, access_token])
      expect(await standing(service, token)).toBe(401)
    expect(await entriesAbout(person)).toMatchObject([{ changes: { sessions: 2 } }])
    expect(await standing(service, (await again()).access_token)).toBe(200)
  })

  it('causes no journal entry if the user has no session left', async () => {
    await call('DELETE', `${person.id}/sessions`)
    expect((await call('DELETE', `${person.id}/sessions`)).body).toEqual({ ended: 0 })
    expect(await entriesAbout(person)).toHaveLength(1)
  })

  it('does not count expired sessions', async () => {
    service.clock.advance(15 * DAY)
    await renewAdmin(service, clinic)
    await again()
    expect((await call('DELETE', `${person.id}/sessions`)).body).toEqual({ ended: 1 })
  })

  it('can also end their own sessions', async () => {
    const admin = await newColleague(service, clinic, 'admin')
    expect((await call('DELETE', `${admin.id}/sessions`, admin)).body).toEqual({ ended: 1 })
    expect(await standing(service, admin.token)).toBe(401)
  })

  it.each([
    ['of a colleague', (colleague: Person) => jtiOf(colleague.token)],
    ['that never existed', () => '00000000-0000-4000-8000-000000000000'],
    ['with a malformed ID', () => 'all'],
    ['written in upper case', () => jtiOf(person.token).toUpperCase()],
  ])("gets 404 for a session %s with the user's ID", async (_, jti) => {
    const colleague = await newColleague(service, clinic)
    const answer = await call('DELETE', `${person.id}/sessions/${jti(colleague)}`)
    expect(answer).toMatchObject({ status: 404, body: { code: 'not_found' } })
    expect(await standing(service, person.token)).toBe(200)
    expect(await standing(service, colleague.token)).toBe(200)
  })
})

/** The three operations on a user, by their path after the user's id. */
const OPERATIONS = [
  ['GET', () => 'sessions'],
  ['DELETE', () => 'sessions'],
  ['DELETE', (of: Person) => `sessions/${jtiOf(of.token)}`],
] as const

describe.each(OPERATIONS)('a call of %s for another user', (method, path) => {
  it('is refused with 403 if the user is a superadmin', async () => {
    const at = { tenantId: clinic.id, subdomain: 'north', role: 'superadmin' as const }
    const operator = await freshOperator()
    const target = await newPerson(service, operator, at)
    const answer = await call(method, `${target.id}/${path(target)}`)
    expect(answer).toMatchObject({ status: 403, body: { code: 'superadmin_required' } })
    expect(await standing(service, target.token)).toBe(200)
  })

  it('gets 404 if the user belongs to another tenant', async () => {
    const { nurse } = other.people
    const answer = await call(method, `${nurse.id}/${path(nurse)}`)
    expect(answer).toMatchObject({ status: 404, body: { code: 'not_found' } })
    expect(await entriesAbout(nurse)).toEqual([])
  })

  it('is refused for auditors and doctors', async () => {
    for (const role of ['auditor', 'doctor'] as const) {
      const caller = await newColleague(service, clinic, role)
      const answer = await call(method, `${person.id}/${path(person)}`, caller)
      expect(answer).toMatchObject({ status: 403, body: { code: 'role_required' } })
    }
    expect(await standing(service, person.token)).toBe(200)
  })
})
