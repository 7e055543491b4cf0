/** Changes to a user between the password check of a sign-in and the start of its session. */
import { hash } from '@node-rs/argon2'
import { beforeAll, describe, expect, test } from 'vitest'
import { eventually, newColleague, ownerConnection, standing } from '../sessions/users.ts'
import { type Clinic, makeClinic, PASSWORD, type Person, superadmin } from '../support/clinics.ts'
import { type Answer, openService, type Service } from '../support/service.ts'

const ANOTHER = await hash('another-Horse-77')

let service: Service
let clinic: Clinic

beforeAll(async () => {
  service = await openService()
  clinic = await makeClinic(service, await superadmin(service), 'north')
})

const login = ({ email }: Person): Promise<Answer> =>
  service.call('POST', '/api/auth/login', {
    body: { email, password: PASSWORD, subdomain: 'north' },
  })

/** Signs in while another transaction locks the user's row, and changes the row once the sign-in waits for it. */
async function duringSignIn(person: Person, change: string): Promise<Answer> {
  const owner = await ownerConnection(service)
  await owner.query('begin')
  await owner.query('select from users where id = $1 for update', [person.id])
  const answer = login(person)
  await eventually(
    () =>
      service.database.sql(`select from pg_stat_activity where datname = current_database()
        and wait_event_type = 'Lock' and query like '%last_login_at%'`),
    (waiting) => waiting.length === 1,
  )
  await owner.query(`update users set ${change} where id = $1`, [person.id])
  await owner.query('commit')
  return answer
}

describe('a sign-in whose user changes after the password check', () => {
  test.each([
    ['gets another name', "full_name = 'Nora Newman'", { full_name: 'Nora Newman' }],
    ['gets another role', "role = 'nurse'", { role: 'nurse' }],
    [
      'has to choose another password',
      'must_change_password = true',
      { password_change_required: true },
    ],
  ])('succeeds if the user %s', async (_what, change, told) => {
    const person = await newColleague(service, clinic)
    const { status, body } = await duringSignIn(person, change)
    expect(status).toBe(200)
    expect(body).toMatchObject(told)
    const [entries] = await service.database.sql<{ n: number }>(
      `select count(*)::int as n from journal where action = 'auth.login' and user_id = $1`,
      [person.id],
    )
    // Expects the entry of the earlier sign-in and the entry of this one.
    expect(entries?.n).toBe(2)
  })

  test.each([
    ['is blocked', 'is_active = false'],
    ['gets another password', `password_hash = '${ANOTHER}'`],
    ['sets up a second factor', 'totp_enabled_at = now()'],
  ])('is refused if the user %s', async (_what, change) => {
    const person = await newColleague(service, clinic)
    const sessions = () =>
      service.database.sql('select id from sessions where user_id = $1', [person.id])
    const before = await sessions()
    expect((await duringSignIn(person, change)).status).toBe(401)
    expect(await sessions()).toEqual(before)
  })

  test('succeeds if nothing has changed', async () => {
    const person = await newColleague(service, clinic)
    const { status, body } = await duringSignIn(person, 'full_name = full_name')
    expect(status).toBe(200)
    expect(await standing(service, body.access_token)).toBe(200)
  })
})
