/** A caller with an open session guesses the user's password by trying to change it. */
import { beforeAll, expect, test } from 'vitest'
import { newColleague } from '../sessions/users.ts'
import { type Clinic, makeClinic, PASSWORD, type Person, superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'
import { attempt, guessUntilRefused } from './people.ts'

let service: Service
let node: Service
let clinic: Clinic

beforeAll(async () => {
  service = await openService()
  node = await openService({ database: service.database })
  for (const { clock } of [service, node]) clock.stop()
  clinic = await makeClinic(service, await superadmin(service), 'north')
})

const change = (person: Person, current_password: string, at = service) =>
  at.call('PUT', '/api/users/me/password', {
    token: person.token,
    body: { current_password, new_password: 'other-Horse-77' },
  })

test('after five wrong guesses at one’s own password, even the correct password has to wait, on every node', async () => {
  const person = await newColleague(service, clinic)
  for (let times = 0; times < 5; times += 1)
    expect((await change(person, `wrong-${times}`)).status).toBe(403)
  for (const at of [service, node]) {
    const refused = await change(person, PASSWORD, at)
    expect(refused.status).toBe(429)
    expect(Number(refused.headers['retry-after'])).toBe(5)
  }
  service.clock.advance(5_000)
  expect((await change(person, PASSWORD)).status).toBe(200)
})

test('sixteen concurrent guesses at one’s own password do not exceed the limit', async () => {
  const person = await newColleague(service, clinic)
  const answers = await Promise.all(
    Array.from({ length: 16 }, (_, index) => change(person, `wrong-${index}`)),
  )
  const statuses = answers.map(({ status }) => status)
  expect(statuses.filter((status) => status === 403)).toHaveLength(5)
  expect(statuses.filter((status) => status === 429)).toHaveLength(11)
})

test('guesses at one’s own password delay no other user, and no sign-in', async () => {
  const [person, other] = [await newColleague(service, clinic), await newColleague(service, clinic)]
  for (let times = 0; times < 6; times += 1) await change(person, 'wrong')
  expect((await change(other, 'wrong')).status).toBe(403)
  expect((await attempt(service, { email: person.email })).status).toBe(200)
})

test('failed sign-ins do not delay a password change in an open session', async () => {
  const person = await newColleague(service, clinic)
  await guessUntilRefused(() =>
    attempt(service, { email: person.email, password: 'wrong-Horse-9' }),
  )
  expect((await change(person, PASSWORD)).status).toBe(200)
})
