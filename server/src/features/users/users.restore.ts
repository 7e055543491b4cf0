/** Restore rules for users: access rights that were revoked after the backup stay revoked. */
import type { RestoreColumns } from '../../platform/feature/restore-columns.ts'

/**
 * Returns the rank of a role by its rights. A restore keeps the lower of the current role and the backup's role.
 * Auditors and clinicians see different data, so a user who is an auditor now stays an auditor.
 */
const rank = (row: string) =>
  `array_position(array['receptionist', 'nurse', 'doctor', 'auditor', 'admin', 'superadmin'], ${row}.role)`

const TODAYS_ROLE = `(live.role = 'auditor' or ${rank('live')} <= ${rank('stage')})`

/** A restore keeps the current values of the columns that control sign-in. */
const SIGN_IN = {
  email: { merged: 'live.email' },
  email_verified_at: { merged: 'live.email_verified_at' },
  is_vouched: { merged: 'live.is_vouched' },
  password_hash: { merged: 'live.password_hash' },
  must_change_password: { merged: 'live.must_change_password' },
  totp_enabled_at: { merged: 'live.totp_enabled_at' },
  last_login_at: { merged: 'live.last_login_at' },
}

export const USER_COLUMNS = {
  users: {
    data: ['id', 'tenant_id', 'full_name', 'department_id', 'created_at', 'name_key', 'is_folded'],
    access: {
      ...SIGN_IN,
      is_active: { merged: 'stage.is_active and live.is_active', deleted: 'false' },
      is_pending: {
        merged: `(stage.is_active or stage.is_pending) and (live.is_active or live.is_pending)
          and not (stage.is_active and live.is_active)`,
        deleted: 'false',
      },
      can_see_all_patients: { merged: 'stage.can_see_all_patients and live.can_see_all_patients' },
      role: { merged: `case when ${TODAYS_ROLE} then live.role else stage.role end` },
    },
    label: 'full_name',
    reported: {
      is_active: 'stage.is_active and not live.is_active',
      role: `live.role <> stage.role and ${TODAYS_ROLE}`,
      can_see_all_patients: 'stage.can_see_all_patients and not live.can_see_all_patients',
      email: 'stage.email <> live.email',
      password: 'stage.password_hash is distinct from live.password_hash',
      second_factor: 'stage.totp_enabled_at is distinct from live.totp_enabled_at',
    },
  },
} as const satisfies RestoreColumns
