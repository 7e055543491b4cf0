/** Invitations, addresses entered by administrators, and corrected addresses. */
import { beforeAll, describe, expect, test } from 'vitest'
import { DAY, MINUTE } from '../../src/lib/clock.ts'
import { atOnce, tally } from '../races/race.ts'
import { fresh, newColleague, standing } from '../sessions/users.ts'
import { mailedToken, mailsTo } from '../support/accounts.ts'
import { type Clinic, makeClinic, PASSWORD, type Person, superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'
import {
  actionsAbout,
  askForLink,
  LINK_EXPIRED,
  login,
  PROXIED,
  resetPassword,
  verifyEmail,
} from './people.ts'

const CHOSEN = 'chosen-Horse-81'

let service: Service
let root: Person
let clinic: Clinic

beforeAll(async () => {
  service = await openService({ background: ['jobs'], config: PROXIED })
  root = await superadmin(service)
  clinic = await makeClinic(service, root, 'north')
})

const asAdmin = (method: string, path: string, body?: object) =>
  service.call(method, path, { token: clinic.people.admin.token, body })

const create = (more: object = {}) => {
  const email = `${fresh('invited')}@north.test`
  return asAdmin('POST', '/api/admin/users', { email, full_name: 'Ada', role: 'nurse', ...more })
}

async function invited(): Promise<{ id: number; email: string; token: string }> {
  const { status, body } = await create()
  expect([status, body.email_verified]).toEqual([201, false])
  return { ...body, token: await mailedToken(service, body.email, 'invitation') }
}

const invite = (id: number) => asAdmin('POST', `/api/admin/users/${id}/invitation`)
const subjects = async (email: string) => {
  await service.idle('jobs')
  return (await mailsTo(service, email)).map(({ subject }) => subject)
}

describe('an invitation', () => {
  test('lets the user choose a password, confirms the address and is recorded in the journal', async () => {
    const { id, email, token } = await invited()
    expect((await login(service, email, 'north', PASSWORD)).status).toBe(401)
    expect((await resetPassword(service, token, CHOSEN)).status).toBe(200)
    expect(await login(service, email, 'north', CHOSEN)).toMatchObject({ status: 200 })
    const user = await asAdmin('GET', `/api/admin/users/${id}`)
    expect(user.body.email_verified).toBe(true)
    expect(await actionsAbout(service, id)).toEqual(
      expect.arrayContaining(['user.created', 'user.invited', 'user.email_verified']),
    )
    expect(await invite(id)).toMatchObject({ status: 409, body: { code: 'address_confirmed' } })
  })

  test('succeeds for only one of sixteen concurrent callers', async () => {
    const { token } = await invited()
    const answers = await atOnce((n) => resetPassword(service, token, `raced-Horse-${n}-x`))
    expect(tally(answers)).toEqual({ 200: 1, 400: 15 })
  })

  test('expires after 7 days, and is replaced by a newer invitation', async () => {
    const { id, email, token } = await invited()
    expect((await invite(id)).status).toBe(200)
    const second = await mailedToken(service, email, 'invitation', 1)
    expect((await resetPassword(service, token, CHOSEN)).body).toMatchObject(LINK_EXPIRED)
    const { body } = await create()
    const late = await mailedToken(service, body.email, 'invitation')
    service.clock.advance(7 * DAY - MINUTE)
    expect((await resetPassword(service, second, CHOSEN)).status).toBe(200)
    service.clock.advance(2 * MINUTE)
    expect((await resetPassword(service, late, CHOSEN)).body).toMatchObject(LINK_EXPIRED)
    clinic = await makeClinic(service, await superadmin(service), fresh('later'))
  })

  test('is rate-limited per mailbox', async () => {
    const { body } = await create()
    const statuses = []
    for (let sent = 0; sent < 3; sent += 1) statuses.push((await invite(body.id)).status)
    expect(statuses).toEqual([200, 200, 429])
    expect(await subjects(body.email)).toHaveLength(3)
  })

  test('cannot be combined with must_change_password', async () => {
    const { status, body } = await create({ must_change_password: true })
    expect([status, body.detail[0].loc]).toEqual([422, ['body', 'must_change_password']])
  })
})

test('a user created with a password can sign in before confirming the address, but gets no reset links', async () => {
  const { email } = (await create({ password: PASSWORD })).body
  const at = clinic.subdomain
  expect((await login(service, email, at)).status).toBe(200)
  await askForLink(service, 'request-reset', email, at)
  expect(await subjects(email)).toEqual(['Confirm your e-mail address'])
  const token = await mailedToken(service, email, 'verify-email')
  expect((await verifyEmail(service, token, { password: PASSWORD })).status).toBe(200)
  await askForLink(service, 'request-reset', email, at)
  expect(await subjects(email)).toEqual(['Confirm your e-mail address', 'Choose a new password'])
})

test('a superadmin who creates a user must name the tenant', async () => {
  const body = { email: 'where@north.test', full_name: 'Where', role: 'doctor' }
  const { token } = await superadmin(service)
  const answer = await service.call('POST', '/api/admin/users', { token, body })
  expect([answer.status, answer.body.detail[0].loc]).toEqual([422, ['body', 'tenant_id']])
})

describe('a changed email address', () => {
  const move = (id: number, email: string) => asAdmin('PUT', `/api/admin/users/${id}`, { email })

  test('becomes unconfirmed, ends sessions and links, and both the old and the new address are notified', async () => {
    const person = await newColleague(service, clinic)
    await askForLink(service, 'request-reset', person.email, clinic.subdomain)
    const link = await mailedToken(service, person.email, 'reset-password')
    const email = `${fresh('moved')}@north.test`
    const { status, body } = await move(person.id, email)
    expect([status, body.email, body.email_verified]).toEqual([200, email, false])
    expect(await standing(service, person.token)).toBe(401)
    expect((await resetPassword(service, link, CHOSEN)).body).toMatchObject(LINK_EXPIRED)
    expect(await subjects(person.email)).toContain('Your e-mail address was changed')
    expect(await subjects(email)).toEqual(['Confirm your e-mail address'])
    expect((await login(service, person.email, clinic.subdomain)).status).toBe(401)
    expect((await login(service, email, clinic.subdomain)).status).toBe(200)
    await askForLink(service, 'request-reset', email, clinic.subdomain)
    expect(await subjects(email)).toHaveLength(1)
  })

  test('stays confirmed if only its spelling differs', async () => {
    const person = await newColleague(service, clinic)
    const { body } = await move(person.id, person.email.toUpperCase())
    expect(body.email_verified).toBe(true)
    expect(await standing(service, person.token)).toBe(200)
  })

  test('is refused if another user of the tenant has the address', async () => {
    const [one, other] = [await newColleague(service, clinic), await newColleague(service, clinic)]
    const answer = await move(one.id, other.email)
    expect(answer).toMatchObject({ status: 409, body: { code: 'email_taken' } })
    expect(await standing(service, one.token)).toBe(200)
  })

  test('receives a new invitation if the user has not accepted the first one', async () => {
    const { body } = await create()
    const wrong = await mailedToken(service, body.email, 'invitation')
    const email = `${fresh('right')}@north.test`
    expect((await move(body.id, email)).status).toBe(200)
    expect((await resetPassword(service, wrong, CHOSEN)).body).toMatchObject(LINK_EXPIRED)
    const right = await mailedToken(service, email, 'invitation')
    expect((await resetPassword(service, right, CHOSEN)).status).toBe(200)
  })
})
