/** Converts fixes for API responses. Superadmins see all findings, other administrators only their tenant's. */
import type { Fix as Known } from '../../platform/feature/fix.ts'
import type { Shown } from './detect/findings.store.ts'
import type { FixView } from './fixes.schema.ts'
import type { FixRow } from './fixes.store.ts'
import type { HealingNames } from './names.ts'

/** Returns the fields that every caller sees: the catalogue entry, and the findings that this caller may see. */
function common(row: FixRow, known: Known, shown: readonly Shown[], names: HealingNames) {
  const { id, key, title, description, plan, severity, automatic } = row
  return {
    id,
    key,
    title,
    description,
    plan,
    runbook: known.runbook ?? null,
    severity,
    automatic,
    repairable: known.repair !== undefined,
    occurrences: shown[0]?.total ?? 0,
    evidence: shown.map((finding) => {
      const { tenant_id, subject, measured, expected, since } = finding
      const subject_name = names.ofSubject(finding)
      const people = names.ofPeople(finding)
      return { tenant_id, subject, subject_name, measured, expected, people, since }
    }),
  }
}

export function forOperators(
  row: FixRow,
  known: Known,
  shown: readonly Shown[],
  names: HealingNames,
): FixView {
  const { status, reason, unknown, last_detected_at, applied_at, applied_by, result } = row
  return {
    ...common(row, known, shown, names),
    status,
    reason,
    unknown,
    last_detected_at,
    applied_at,
    applied_by,
    applied_by_name: names.ofUser(applied_by),
    result,
  }
}

/**
 * Returns the view for a tenant's administrator. Hides all information about other tenants, including whether they have
 * findings.
 */
export function forTenant(
  row: FixRow,
  known: Known,
  shown: readonly Shown[],
  names: HealingNames,
): FixView {
  const isOpen = shown.length > 0 && (row.status === 'proposed' || row.status === 'failed')
  return {
    ...common(row, known, shown, names),
    status: isOpen ? row.status : 'idle',
    reason: null,
    unknown: null,
    last_detected_at: shown[0]?.last_seen ?? null,
    applied_at: null,
    applied_by: null,
    applied_by_name: null,
    result: null,
  }
}
