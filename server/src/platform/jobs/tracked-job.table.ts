import type { Generated, JSONColumnType } from 'kysely'
import type { RestoreRules } from '../feature/restore-rule.ts'
import type { Actor } from '../journal/index.ts'

export interface TrackedJobsTable {
  id: Generated<string>
  tenant_id: number | null
  kind: string
  subject_id: string | null
  status: Generated<'running' | 'completed' | 'failed' | 'cancelled'>
  phase: Generated<string | null>
  done: Generated<number>
  total: Generated<number | null>
  error: Generated<string | null>
  actor: JSONColumnType<Actor>
  created_at: Generated<string>
  seen_at: Generated<string>
  finished_at: Generated<string | null>
}

export const TRACKED_JOB_TABLES = { jobs: 'never touched' } as const satisfies RestoreRules

declare module '../db/database.ts' {
  interface Database {
    jobs: TrackedJobsTable
  }
}
