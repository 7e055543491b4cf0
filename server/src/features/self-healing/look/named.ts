/** What a finding is known by: of one fix there is one of each subject in a tenant. */
import type { Finding } from '../../../platform/fix.ts'

type Named = Pick<Finding, 'tenant_id' | 'subject'>

export const nameOf = ({ tenant_id, subject }: Named): string => `${tenant_id ?? ''}/${subject}`

/** Those of the first that are not among the others. */
export function without<T extends Named>(some: readonly T[], others: readonly Named[]): T[] {
  const names = new Set(others.map(nameOf))
  return some.filter((one) => !names.has(nameOf(one)))
}

/** Those of the first that are among the others. */
export function among<T extends Named>(some: readonly T[], others: readonly Named[]): T[] {
  const names = new Set(others.map(nameOf))
  return some.filter((one) => names.has(nameOf(one)))
}

/** By the tenant, null for the platform. */
export const byTenant = <T extends Named>(some: readonly T[]): Map<number | null, T[]> =>
  Map.groupBy(some, ({ tenant_id }) => tenant_id)
