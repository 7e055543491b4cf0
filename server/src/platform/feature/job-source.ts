/** The type of a source of long jobs, which a feature passes to the composition root (ADR 0040). */
import type { RawBuilder } from 'kysely'
import type { TenantTx } from '../db/index.ts'
import type { Actor } from '../journal/index.ts'

export const JOB_STATUSES = ['queued', 'running', 'completed', 'failed', 'cancelled'] as const
export type JobStatus = (typeof JOB_STATUSES)[number]

/** The things that the numbers of a job's progress count. */
export const JOB_UNITS = ['records', 'bytes', 'events', 'entries', 'checks'] as const
export type JobUnit = (typeof JOB_UNITS)[number]

/** A job as a source selects it, with the names and types of these columns. */
export interface LongJobRow {
  /** Unique over all sources. */
  id: string
  kind: string
  tenant_id: number | null
  /** The id of the record that the job reads or changes; null without one. */
  subject_id: string | null
  status: JobStatus
  /** The current phase in words; null if the job has no phases, or has not begun. */
  phase: string | null
  done: number | null
  /** Null while the amount of work is unknown. */
  total: number | null
  unit: JobUnit
  error: string | null
  result: object | null
  /** The user or the service that started the job; null if unknown. */
  actor: Actor | null
  created_at: string
  started_at: string | null
  /** When the progress was last recorded; null before that. */
  progressed_at: string | null
  /** When `done` was 0, the start of the rate; null if the job has no rate. */
  counted_since: string | null
  finished_at: string | null
  can_cancel: boolean
}

export interface JobSource {
  readonly kinds: readonly string[]
  /**
   * Selects all jobs of these kinds with the columns of `LongJobRow` in order. The caller limits them to its tenants.
   */
  readonly select: RawBuilder<LongJobRow>
  /** Whether all jobs are of the installation, in a table that transactions of a tenant cannot read. */
  readonly isOfInstallation?: boolean
  /**
   * Cancels a job and journals it, in its own transaction. Returns false if it is too late. Undefined: never possible.
   */
  cancel?(job: LongJobRow, actor: Actor): Promise<boolean>
  /** Adds the current names of records to the result of one job. Undefined: results contain no ids of records. */
  addNames?(tx: TenantTx, result: object): Promise<object>
}
