import type { Generated, JSONColumnType } from 'kysely'
import type { Actor } from '../../platform/journal/index.ts'
import type { RestoreRules } from '../../platform/restore-rule.ts'
import type { BackupType } from './file/format.ts'
import type { RestoreResult } from './restore-in-place/outcome.ts'

export const STATUSES = ['queued', 'running', 'completed', 'failed'] as const
export type Status = (typeof STATUSES)[number]

export const JOB_KINDS = ['create', 'restore', 'forget'] as const
export type JobKind = (typeof JOB_KINDS)[number]

/** Why a backup was made. */
export const REASONS = ['request', 'schedule', 'safety'] as const
export type Reason = (typeof REASONS)[number]

export interface BackupsTable {
  id: string
  type: BackupType
  tenant_id: number | null
  reason: Reason
  status: Generated<Status>
  size_bytes: number | null
  sha256: string | null
  records: number | null
  schema_version: number | null
  created_at: Generated<string>
  created_by: number | null
  verified_at: string | null
  drill_seconds: number | null
  /** When the file was last read again, whatever came of it. */
  checked_at: string | null
  /** What was wrong with it then. */
  fault: string | null
  locked_until: string | null
  rewritten_at: string | null
  forgotten: Generated<number[]>
}

export interface PurgedTenantsTable {
  id: number
  purged_at: Generated<string>
  backups: Generated<string[]>
  erased_at: string | null
}

export interface BackupJobsTable {
  id: string
  number: Generated<number>
  backup_id: string
  tenant_id: number | null
  kind: JobKind
  status: Generated<Status>
  progress: Generated<number>
  error: string | null
  options: JSONColumnType<object>
  result: JSONColumnType<RestoreResult> | null
  actor: JSONColumnType<Actor>
  created_at: Generated<string>
  started_at: string | null
  finished_at: string | null
}

export const BACKUP_TABLES = {
  installation: 'never touched',
  backups: 'never touched',
  backup_jobs: 'never touched',
  purged_tenants: 'kept',
} as const satisfies RestoreRules

declare module '../../platform/db/database.ts' {
  interface Database {
    backups: BackupsTable
    backup_jobs: BackupJobsTable
    purged_tenants: PurgedTenantsTable
  }
}
