import { expect, test } from 'vitest'
import { addressOf, readClinicId } from './clinic.ts'

test('puts the clinic into the addresses of superadmins only', () => {
  const users = { path: '/users' }
  expect(addressOf(users, { role: 'superadmin' }, 3)).toBe('/t/3/users')
  expect(addressOf({ path: '/' }, { role: 'superadmin' }, 3)).toBe('/t/3')
  expect(addressOf(users, { role: 'admin' }, 3)).toBe('/users')
})

test('leaves pages of the platform without a clinic', () => {
  const tenants = { path: '/tenants', isPlatform: true }
  expect(addressOf(tenants, { role: 'superadmin' }, 3)).toBe('/tenants')
})

test.each(['', '0', '-1', '1.5', '1e3', 'x', '9'.repeat(16), undefined])(
  'refuses %s as the id of a clinic',
  (text) => {
    expect(readClinicId(text)).toBeUndefined()
  },
)
