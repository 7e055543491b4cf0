/**
 * The password rules are the same everywhere. Characters are code points (NIST SP 800-63B §3.1.1.2), so 128 characters
 * take at most 512 bytes.
 */
import { beforeAll, describe, expect, test } from 'vitest'
import { fresh, newColleague } from '../sessions/users.ts'
import { type Clinic, makeClinic, PASSWORD, signIn, superadmin } from '../support/clinics.ts'
import { type Answer, openService, type Service } from '../support/service.ts'

let service: Service
let clinic: Clinic

beforeAll(async () => {
  service = await openService()
  clinic = await makeClinic(service, await superadmin(service), 'north')
})

/** Every way to set a password without a link. */
const ways: Record<string, (password: string) => Promise<Answer>> = {
  'by registration': (password) =>
    service.call('POST', '/api/auth/register', {
      body: {
        email: `${fresh('someone')}@north.test`,
        password,
        full_name: 'Someone',
        role: 'nurse',
        subdomain: 'north',
      },
    }),
  'for a new user': (password) =>
    service.call('POST', '/api/admin/users', {
      token: clinic.people.admin.token,
      body: {
        email: `${fresh('someone')}@north.test`,
        password,
        full_name: 'Someone',
        role: 'nurse',
        tenant_id: clinic.id,
      },
    }),
  'for another user': async (password) => {
    const { id } = await newColleague(service, clinic)
    return service.call('PUT', `/api/admin/users/${id}/password`, {
      token: clinic.people.admin.token,
      body: { password },
    })
  },
  'by its user': async (password) => {
    const { token } = await newColleague(service, clinic)
    return service.call('PUT', '/api/users/me/password', {
      token,
      body: { current_password: PASSWORD, new_password: password },
    })
  },
}

describe.each(Object.entries(ways))('a password set %s', (_, set) => {
  test.each([
    ['seven characters', 'Xq7-Zv9', 'string_too_short'],
    ['seven emoji, which are fourteen code units', '🦷🐴🔋📎🌙🧬🎻', 'string_too_short'],
    ['129 characters', 'Xq7-Zv9kL'.repeat(15).slice(0, 129), 'string_too_long'],
    ['129 marks on a letter', `q${'\u0301'.repeat(128)}`, 'string_too_long'],
    ['129 emoji', '🐴'.repeat(129), 'string_too_long'],
    ['a common password', 'password1', 'value_error'],
    ['a common password in other case and width', 'ＰASSword1', 'value_error'],
  ])('is refused: %s', async (_what, password, type) => {
    const { status, body } = await set(password)
    expect(status).toBe(422)
    expect(body.detail).toEqual([
      expect.objectContaining({ type, loc: ['body', expect.stringMatching(/password$/)] }),
    ])
    expect(JSON.stringify(body)).not.toContain(password)
  })

  test.each([
    ['eight characters', 'Xq7-Zv9k'],
    ['eight emoji', '🩺🦷🐴🔋📎🌙🧬🎻'],
    ['letters with marks', 'q\u0323\u0307'.repeat(8)],
    ['128 characters', 'Xq7-Zv9kL'.repeat(15).slice(0, 128)],
    ['128 characters of four bytes', '𝒳🐴'.repeat(64)],
    ['with spaces and any script', '  длинная фраза 東京  '],
  ])('is accepted: %s', async (_what, password) => {
    expect((await set(password)).status).toBeLessThan(300)
  })
})

test.each([
  ['for a new user', '/api/admin/users', () => ({ tenant_id: clinic.id })],
  ['by registration', '/api/auth/register', () => ({ subdomain: 'north' })],
])('a password with the name of the e-mail address is rejected %s', async (...way) => {
  const [, path, of] = way
  for (const password of ['xx-Gregor-99', 'xx-ＧＲＥＧＯＲ-99']) {
    const { status, body } = await service.call('POST', path, {
      token: clinic.people.admin.token,
      body: { email: 'gregor@north.test', password, full_name: 'Gregor', role: 'nurse', ...of() },
    })
    expect([status, body.detail[0].type]).toEqual([422, 'value_error'])
  }
})

test('a password is accepted whether its letters are composed, decomposed or in full width', async () => {
  const person = await newColleague(service, clinic)
  const password = 'Ångström-Pferd-9'
  await service.call('PUT', '/api/users/me/password', {
    token: person.token,
    body: { current_password: PASSWORD, new_password: password },
  })
  for (const typed of [password, password.normalize('NFD'), password.replace('P', 'Ｐ')])
    await signIn(service, { email: person.email, password: typed, subdomain: 'north' })
})
