import type { Generated, JSONColumnType } from 'kysely'
import type { Evidence, Severity } from '../../platform/feature/fix.ts'
import type { RestoreRules } from '../../platform/feature/restore-rule.ts'

export const SEVERITIES = ['low', 'medium', 'high', 'critical'] as const satisfies Severity[]

export const FIX_STATUSES = ['idle', 'proposed', 'applied', 'failed'] as const
export type FixStatus = (typeof FIX_STATUSES)[number]

export interface RepairResult {
  repaired: number
  /** The number of findings that disappeared before their repair. */
  already_gone: number
  failed: number
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
  status: Generated<FixStatus>
  reason: string | null
  unknown: string | null
  occurrences: Generated<number>
  looked_at: number | null
  last_detected_at: string | null
  applied_at: string | null
  applied_by: number | null
  result: JSONColumnType<RepairResult> | null
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
  // A restore keeps deletions of fixes and counts of successful repairs, which belong to this installation.
  self_healing_fixes: 'never touched',
  // A restore clears the findings. The next scan detects the faults in the restored data.
  self_healing_findings: 'rebuilt',
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
