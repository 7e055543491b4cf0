/** Concurrent changes of the same user's password. Only one change succeeds, and its password is valid. */
import { beforeAll, expect, test } from 'vitest'
import { newColleague } from '../sessions/users.ts'
import { forgive } from '../support/accounts.ts'
import { type Clinic, makeClinic, PASSWORD, superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'
import { atOnce } from './race.ts'

let service: Service
let clinic: Clinic

beforeAll(async () => {
  service = await openService()
  clinic = await makeClinic(service, await superadmin(service), 'north')
})

test.each([2, 16])(
  'only one of %i concurrent password changes of a user succeeds',
  async (count) => {
    const person = await newColleague(service, clinic)
    const wish = (index: number) => `wished-Horse-${index}`
    const answers = await atOnce(
      (index) =>
        service.call('PUT', '/api/users/me/password', {
          token: person.token,
          body: { current_password: PASSWORD, new_password: wish(index) },
        }),
      count,
    )
    const winners = answers.flatMap(({ status }, index) => (status === 200 ? [index] : []))
    expect(winners).toHaveLength(1)
    // A 429 is possible. If the password has already changed, the request counts as a wrong guess.
    for (const { status } of answers) expect([200, 401, 403, 409, 429]).toContain(status)
    const signIns: number[] = []
    for (const password of [PASSWORD, ...answers.map((_, index) => wish(index))]) {
      await forgive(service)
      const body = { email: person.email, password, subdomain: 'north' }
      signIns.push((await service.call('POST', '/api/auth/login', { body })).status)
    }
    expect(signIns).toEqual([401, ...answers.map((_, index) => (index === winners[0] ? 200 : 401))])
    const changes = await service.database.sql(
      `select 1 from journal where action = 'user.password_changed' and resource_id = $1`,
      [String(person.id)],
    )
    expect(changes).toHaveLength(1)
  },
)
