/** Mails the owner of an account when the password or second factor changes. The mail contains no secret. */
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Enrolled, enrol, login as enter } from '../second-factor/enrol.ts'
import { newColleague } from '../sessions/users.ts'
import { mailedToken, mailsTo } from '../support/accounts.ts'
import { type Clinic, makeClinic, PASSWORD, type Person, superadmin } from '../support/clinics.ts'
import { type Answer, openService, type Service } from '../support/service.ts'
import { askForLink, login, newTenant, PROXIED, register, resetPassword } from './people.ts'

const RENEWED = 'renewed-Horse-71'

let service: Service
let clinic: Clinic
let person: Person
let factor: Enrolled

beforeAll(async () => {
  service = await openService({ background: ['jobs'], config: PROXIED })
})

beforeEach(async () => {
  clinic ??= await makeClinic(service, await superadmin(service), 'north')
  clinic.people.admin.token = (await enter(service, clinic.people.admin)).body.access_token
  person = await newColleague(service, clinic)
})

/** Returns the mails to the person once the outbox is empty. */
async function told(address = person.email) {
  await service.idle('jobs')
  return (await mailsTo(service, address)).map(({ subject = '', text = '', html = '' }) => ({
    subject,
    text,
    html,
  }))
}

const call = (method: string, path: string, token: string, body?: object): Promise<Answer> =>
  service.call(method, path, { token, ...(body ? { body } : {}) })
const byAdmin = (method: string, path: string, body?: object) =>
  call(method, `/api/admin/users/${person.id}${path}`, clinic.people.admin.token, body)
const changeOwn = (current_password = PASSWORD) =>
  call('PUT', '/api/users/me/password', person.token, { current_password, new_password: RENEWED })

async function withFactor(): Promise<void> {
  factor = await enrol(service, person.token)
}

const nothing = async () => undefined

describe.each<[string, string, () => Promise<unknown>, () => Promise<Answer>]>([
  ['a password that they changed', 'Your password was changed', nothing, () => changeOwn()],
  [
    'a password that an administrator set',
    'Your password was changed',
    nothing,
    () => byAdmin('PUT', '/password', { password: RENEWED, must_change_password: true }),
  ],
  [
    'a password that was set with a mailed link',
    'Your password was changed',
    () => askForLink(service, 'request-reset', person.email, 'north'),
    async () =>
      resetPassword(service, await mailedToken(service, person.email, 'reset-password'), RENEWED),
  ],
  [
    'a second factor that was set up',
    'A second factor was set up',
    nothing,
    async () => {
      await withFactor()
      return call('GET', '/api/users/me', person.token)
    },
  ],
  [
    'a second factor that they removed',
    'Your second factor was removed',
    withFactor,
    () => call('POST', '/api/auth/totp/disable', person.token, { password: PASSWORD }),
  ],
  [
    'a second factor that an administrator removed',
    'Your second factor was removed',
    withFactor,
    () => byAdmin('DELETE', '/totp'),
  ],
  [
    'a recovery code that was used',
    'A recovery code was used',
    withFactor,
    () => enter(service, person, { totp_code: factor.recovery[0] ?? '' }),
  ],
])('a security notice about %s', (_, subject, before, act) => {
  test("is mailed once to the account's owner, and contains no secret", async () => {
    await before()
    const seen = (await told()).length
    expect([200, 204]).toContain((await act()).status)
    const [mail, ...more] = (await told()).slice(seen)
    expect(more).toEqual([])
    expect(mail?.subject).toBe(subject)
    const said = JSON.stringify(mail)
    expect(said).toContain('Clinic north')
    expect(said).not.toMatch(/token=|https?:\/\/(?!www\.w3)/)
    for (const secret of [PASSWORD, RENEWED, factor?.secret, ...(factor?.recovery ?? [])])
      if (secret) expect(said).not.toContain(secret)
  })
})

test('the notice about a used recovery code says how many codes are left', async () => {
  await withFactor()
  for (const [index, left] of [9, 8].entries()) {
    await enter(service, person, { totp_code: factor.recovery[index] ?? '' })
    expect((await told()).at(-1)?.text).toContain(`You have ${left} recovery codes left`)
  }
})

test('a refused account change sends no mail', async () => {
  await withFactor()
  const seen = (await told()).length
  expect((await changeOwn('wrong-Horse-9')).status).toBe(403)
  await call('POST', '/api/auth/totp/disable', person.token, { password: 'wrong-Horse-9' })
  await enter(service, person, { totp_code: 'aaaa-bbbb-cccc-dddd-eeee-ffff' })
  expect(await told()).toHaveLength(seen)
})

test('a user with an unconfirmed address gets no security notices', async () => {
  const { token: root } = await superadmin(service)
  const { subdomain } = await newTenant(service, root, { registration: 'open' })
  const { email } = await register(service, subdomain)
  const { body } = await login(service, email, subdomain)
  const changed = await call('PUT', '/api/users/me/password', body.access_token, {
    current_password: PASSWORD,
    new_password: RENEWED,
  })
  expect(changed.status).toBe(200)
  expect((await told(email)).map(({ subject }) => subject)).toEqual(['Confirm your e-mail address'])
})
