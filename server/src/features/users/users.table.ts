import type { Generated } from 'kysely'
import type { Role } from '../../lib/roles.ts'
import type { RestoreRules } from '../../platform/feature/restore-rule.ts'

export interface UsersTable {
  id: Generated<number>
  tenant_id: number
  email: string
  full_name: string
  role: Role
  department_id: number | null
  can_see_all_patients: Generated<boolean>
  is_active: Generated<boolean>
  is_pending: Generated<boolean>
  /** Null for an invited user who has not chosen a password yet. */
  password_hash: string | null
  must_change_password: Generated<boolean>
  email_verified_at: string | null
  /** True if an administrator entered the address. The user may then sign in before confirming it. */
  is_vouched: Generated<boolean>
  totp_enabled_at: string | null
  created_at: Generated<string>
  last_login_at: string | null
  /** The folded name, then the original name (`nameKey`). `is_folded` is true with this release's folding rules. */
  name_key: string
  is_folded: Generated<boolean>
  search: Generated<string>
}

export const USER_TABLES = {
  users: 'restored',
} as const satisfies RestoreRules

declare module '../../platform/db/database.ts' {
  interface Database {
    users: UsersTable
  }
}

declare module '../../platform/db/topics.ts' {
  interface Topics {
    user: `user:${number}`
  }
}
