import type { Generated, JSONColumnType } from 'kysely'
import type { Evidence, Severity } from '../../platform/fix.ts'
import type { RestoreRules } from '../../platform/restore-rule.ts'

export const SEVERITIES = ['low', 'medium', 'high', 'critical'] as const satisfies Severity[]

export const STATUSES = ['idle', 'proposed', 'applied', 'failed'] as const
export type Status = (typeof STATUSES)[number]

/** What came of applying a fix. */
export interface Result {
  repaired: number
  /** Of what was found before, or when the repair looked under its locks. */
  already_gone: number
  failed: number
  /** What was found when it was looked at again. */
  remaining: number
  duration_ms: number
}

export interface FixesTable {
  id: Generated<number>
  key: string
  title: string
  description: string
  plan: string
  severity: Severity
  automatic: boolean
  status: Generated<Status>
  reason: string | null
  unknown: string | null
  occurrences: Generated<number>
  looked_at: number | null
  last_detected_at: string | null
  applied_at: string | null
  applied_by: number | null
  result: JSONColumnType<Result> | null
  position: string | null
  round: Generated<number>
  applications: Generated<number>
  failures: Generated<number>
  deleted_at: string | null
}

export interface FindingsTable {
  id: Generated<number>
  fix_id: number
  tenant_id: number | null
  subject: string
  measured: JSONColumnType<Evidence>
  expected: JSONColumnType<Evidence>
  first_seen: string
  last_seen: string
  round: number
  proposed_at: string | null
}

export interface RepairsTable {
  id: Generated<number>
  fix_id: number
  tenant_id: number | null
  subject: string
  at: string
}

export interface ScansTable {
  one: Generated<boolean>
  at: string
  duration_ms: number
  looked_at: number
  unknown: number
}

export const SELF_HEALING_TABLES = {
  // What people took out, and how often it helped, is of this installation and not of its data.
  self_healing_fixes: 'never touched',
  // The next scan says what is wrong with the data that came back.
  self_healing_findings: 'made anew',
  self_healing_repairs: 'never touched',
  self_healing_scans: 'never touched',
} as const satisfies RestoreRules

declare module '../../platform/db/database.ts' {
  interface Database {
    self_healing_fixes: FixesTable
    self_healing_findings: FindingsTable
    self_healing_repairs: RepairsTable
    self_healing_scans: ScansTable
  }
}
