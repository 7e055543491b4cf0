import type { Generated, JSONColumnType } from 'kysely'
import type { JobUnit } from '../../platform/feature/job-source.ts'
import type { RestoreRules } from '../../platform/feature/restore-rule.ts'
import type { Actor } from '../../platform/journal/index.ts'
import { DOWNLOAD_TICKET_TABLES } from './download/tickets.table.ts'
import type { BackupType } from './file/format.ts'
import type { RestoreResult } from './restore-in-place/outcome.ts'

export const BACKUP_STATUSES = ['queued', 'running', 'completed', 'failed'] as const
export type BackupStatus = (typeof BACKUP_STATUSES)[number]

export const JOB_KINDS = ['create', 'restore', 'forget'] as const
export type BackupJobKind = (typeof JOB_KINDS)[number]

/** The reasons why a backup was created. */
export const BACKUP_REASONS = ['request', 'schedule', 'safety'] as const
export type BackupReason = (typeof BACKUP_REASONS)[number]

export interface BackupsTable {
  id: string
  type: BackupType
  tenant_id: number | null
  reason: BackupReason
  status: Generated<BackupStatus>
  size_bytes: number | null
  sha256: string | null
  records: number | null
  schema_version: number | null
  created_at: Generated<string>
  created_by: number | null
  verified_at: string | null
  drill_seconds: number | null
  /** When the last verification of the file ended, whether it succeeded or failed. */
  checked_at: string | null
  /** The fault that the last verification found; null if it found none. */
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
  kind: BackupJobKind
  status: Generated<BackupStatus>
  progress: Generated<number>
  phase: Generated<string | null>
  done: Generated<number | null>
  total: Generated<number | null>
  unit: Generated<JobUnit | null>
  progressed_at: Generated<string | null>
  counted_since: Generated<string | null>
  cancelled_by: JSONColumnType<Actor> | null
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
  ...DOWNLOAD_TICKET_TABLES,
} as const satisfies RestoreRules

declare module '../../platform/db/database.ts' {
  interface Database {
    backups: BackupsTable
    backup_jobs: BackupJobsTable
    purged_tenants: PurgedTenantsTable
  }
}
