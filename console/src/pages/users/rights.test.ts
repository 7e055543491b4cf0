import { describe, expect, it } from 'vitest'
import { ROLES } from '../../words/roles.ts'
import type { User } from './data.ts'
import { rightsOver, rolesToGive } from './rights.ts'

const userOf = (role: User['role'], id = 2): User => ({
  id,
  role,
  email: 'nora@north.test',
  full_name: 'Nora',
  tenant_id: 1,
  department_id: null,
  department_name: null,
  can_see_all_patients: false,
  is_active: true,
  status: 'active',
  email_verified: true,
  totp_enabled: false,
  must_change_password: false,
  created_at: '2026-11-27T10:00:00.000Z',
  last_login_at: null,
})

describe('the rights over other users', () => {
  it.each([
    ['admin', 'nurse', 2, 'all'],
    ['admin', 'superadmin', 2, 'superadmin'],
    ['superadmin', 'superadmin', 2, 'all'],
    ['admin', 'admin', 1, 'own'],
    ['auditor', 'nurse', 2, 'reader'],
    ['auditor', 'auditor', 1, 'reader'],
  ] as const)('that %s has over %s with the ID %i are "%s"', (reader, role, id, rights) => {
    expect(rightsOver(userOf(role, id), { role: reader, user_id: 1 })).toBe(rights)
  })

  it('let only superadmins assign the role of a superadmin', () => {
    expect(rolesToGive({ role: 'admin' }, ROLES)).not.toContain('superadmin')
    expect(rolesToGive({ role: 'superadmin' }, ROLES)).toEqual(ROLES)
  })
})
