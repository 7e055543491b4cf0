import { expect, test } from 'vitest'
import { addressOf, readClinicId } from './clinic.ts'

test('the console adds the clinic to the URLs of superadmins only', () => {
  const users = { path: '/users' }
  expect(addressOf(users, { role: 'superadmin' }, 3)).toBe('/t/3/users')
  expect(addressOf({ path: '/' }, { role: 'superadmin' }, 3)).toBe('/t/3')
  expect(addressOf(users, { role: 'admin' }, 3)).toBe('/users')
})

test('the console does not add the clinic to URLs of platform pages', () => {
  const tenants = { path: '/tenants', isPlatform: true }
  expect(addressOf(tenants, { role: 'superadmin' }, 3)).toBe('/tenants')
})

test.each(['', '0', '-1', '1.5', '1e3', 'x', '9'.repeat(16), undefined])(
  'the console rejects %s as the ID of a clinic',
  (text) => {
    expect(readClinicId(text)).toBeUndefined()
  },
)
