import type { Generated } from 'kysely'
import type { RestoreColumns } from '../../../platform/feature/restore-columns.ts'
import type { RestoreRules } from '../../../platform/feature/restore-rule.ts'

export interface SecondFactorsTable {
  user_id: number
  tenant_id: number
  sealed_secret: Buffer
  confirmed_at: string | null
  last_step: Generated<number>
  created_at: Generated<string>
}

export interface RecoveryCodesTable {
  user_id: number
  tenant_id: number
  code_hash: Buffer
  used_at: string | null
}

export const SECOND_FACTOR_TABLES = {
  second_factors: 'merged',
  recovery_codes: 'merged',
} as const satisfies RestoreRules

/** A restore does not reset recovery codes and time steps that were used after the backup. */
export const SECOND_FACTOR_COLUMNS = {
  second_factors: {
    data: ['user_id', 'tenant_id', 'sealed_secret', 'confirmed_at', 'last_step', 'created_at'],
    owner: { table: 'users', column: 'user_id' },
    spent: { last_step: 'greatest(stage.last_step, live.last_step)' },
  },
  recovery_codes: {
    data: ['user_id', 'tenant_id', 'code_hash', 'used_at'],
    owner: { table: 'users', column: 'user_id' },
    spent: { used_at: 'coalesce(stage.used_at, live.used_at)' },
  },
} as const satisfies RestoreColumns

declare module '../../../platform/db/database.ts' {
  interface Database {
    second_factors: SecondFactorsTable
    recovery_codes: RecoveryCodesTable
  }
}
