/** A fix as its reader may see it: the platform's for a superadmin, what is theirs for anyone else. */
import type { Fix as Known } from '../../platform/fix.ts'
import type { Fix } from './fixes.schema.ts'
import type { FixRow } from './fixes.store.ts'
import type { Shown } from './look/findings.store.ts'

/** What is shown of a fix whoever asks: the catalogue, and what the reader may see of its findings. */
function common(row: FixRow, known: Known, shown: readonly Shown[]) {
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
    evidence: shown.map(({ tenant_id, subject, measured, expected, since }) => ({
      tenant_id,
      subject,
      measured,
      expected,
      since,
    })),
  }
}

export function forOperators(row: FixRow, known: Known, shown: readonly Shown[]): Fix {
  const { status, reason, unknown, last_detected_at, applied_at, applied_by, result } = row
  return {
    ...common(row, known, shown),
    status,
    reason,
    unknown,
    last_detected_at,
    applied_at,
    applied_by,
    result,
  }
}

/** Of what is not the reader's tenant's there is nothing, not even that it is. */
export function forTenant(row: FixRow, known: Known, shown: readonly Shown[]): Fix {
  const isOpen = shown.length > 0 && (row.status === 'proposed' || row.status === 'failed')
  return {
    ...common(row, known, shown),
    status: isOpen ? row.status : 'idle',
    reason: null,
    unknown: null,
    last_detected_at: shown[0]?.last_seen ?? null,
    applied_at: null,
    applied_by: null,
    result: null,
  }
}
