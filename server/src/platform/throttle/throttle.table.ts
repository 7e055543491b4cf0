import type { RestoreRules } from '../feature/restore-rule.ts'
export interface ThrottlesTable {
  key: Buffer
  failures: number
  free_at: string
  forget_at: string
}

export const THROTTLE_TABLES = {
  throttles: 'ended',
} as const satisfies RestoreRules

declare module '../db/database.ts' {
  interface Database {
    throttles: ThrottlesTable
  }
}
