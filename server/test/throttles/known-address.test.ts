/**
 * An IP address from which the owner has signed in has its own count. Guesses from elsewhere do not raise that count.
 */
import { beforeAll, beforeEach, expect, test } from 'vitest'
import { type Clinic, makeClinic, superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'
import { attempt, guessUntilRefused, makeSomeone, type Someone, WRONG } from './people.ts'

const DAY = 24 * 60 * 60 * 1000

let service: Service
let clinic: Clinic
let owner: Someone
let tests = 0
let home: string
let stranger: string

beforeAll(async () => {
  service = await openService({ config: { TRUSTED_PROXIES: 1 } })
  clinic = await makeClinic(service, await superadmin(service), 'north')
})

beforeEach(async () => {
  owner = await makeSomeone(service, clinic)
  tests += 1
  home = `198.51.100.${tests}`
  stranger = `203.0.113.${tests}`
  expect((await enter(home)).status).toBe(200)
})

const enter = (from: string) => attempt(service, { email: owner.email, from })
const guess = (from: string, email = owner.email) =>
  attempt(service, { email, password: WRONG, from })

test('a stranger who guesses from another IP address has to wait, but the owner of the account does not', async () => {
  for (let round = 0; round < 6; round += 1) {
    const { wait } = await guessUntilRefused(() => guess(stranger))
    expect((await enter(home)).status).toBe(200)
    service.clock.advance(wait * 1000)
  }
})

test("the owner's sign-in does not reset the stranger's failure count", async () => {
  await guessUntilRefused(() => guess(stranger))
  expect((await enter(home)).status).toBe(200)
  expect((await guess(stranger)).status).toBe(429)
})

test('guesses from a known IP address are throttled like any others', async () => {
  expect((await guessUntilRefused(() => guess(home))).guesses).toBe(5)
  expect((await enter(home)).status).toBe(429)
  // Guesses from a known address also raise the count for unknown addresses. Otherwise a caller could find out where
  // the account is known.
  expect((await enter(stranger)).status).toBe(429)
})

test("a stranger cannot use the failure count of the owner's IP address by writing that address differently", async () => {
  for (const email of [
    `${owner.email}/${home}`,
    `${home}/${owner.email}`,
    `/${home}/${owner.email}`,
    `${clinic.id}/${home}/${owner.email}`,
  ])
    for (let times = 0; times < 5; times += 1) await guess(stranger, email)
  service.clock.advance(60_000)
  expect((await enter(home)).status).toBe(200)
})

test('an IP address stays known for an account for thirty days after a sign-in', async () => {
  service.clock.advance(29 * DAY)
  await guessUntilRefused(() => guess(stranger))
  expect((await enter(home)).status).toBe(200)
  service.clock.advance(31 * DAY)
  await guessUntilRefused(() => guess(stranger))
  expect((await enter(home)).status).toBe(429)
})

test('an IP address stays known while a session that started there is in use', async () => {
  const { body } = await enter(home)
  service.clock.advance(6 * DAY)
  let token = String(body.refresh_token)
  for (let week = 0; week < 4; week += 1) {
    const { status, body } = await service.call('POST', '/api/auth/refresh', {
      body: { refresh_token: token },
      headers: { 'x-forwarded-for': home },
    })
    expect(status).toBe(200)
    token = String(body.refresh_token)
    service.clock.advance(6 * DAY)
  }
  // The session was started more than thirty days ago, and used six days ago.
  service.clock.advance(1)
  await guessUntilRefused(() => guess(stranger))
  expect((await enter(home)).status).toBe(200)
})

test('a refresh from another IP address neither removes a known address nor adds one', async () => {
  const { body } = await enter(home)
  const elsewhere = `192.0.2.${tests}`
  const refreshed = await service.call('POST', '/api/auth/refresh', {
    body: { refresh_token: body.refresh_token },
    headers: { 'x-forwarded-for': elsewhere },
  })
  expect(refreshed.status).toBe(200)
  await guessUntilRefused(() => guess(stranger))
  expect((await enter(home)).status).toBe(200)
  expect((await enter(elsewhere)).status).toBe(429)
})

test('a failed sign-in does not make its IP address known', async () => {
  await guess(stranger)
  await guessUntilRefused(() => guess('192.0.2.9'))
  expect((await guess(stranger)).status).toBe(429)
})

test('an IP address is known for one account only', async () => {
  const other = await makeSomeone(service, clinic)
  await guessUntilRefused(() => guess(stranger, other.email))
  expect((await attempt(service, { email: other.email, from: home })).status).toBe(429)
})
