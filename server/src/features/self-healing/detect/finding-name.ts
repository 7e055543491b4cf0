/** Identifies findings by tenant and subject. A fix has at most one finding for each subject of a tenant. */
import type { Finding } from '../../../platform/feature/fix.ts'

type Named = Pick<Finding, 'tenant_id' | 'subject'>

export const findingNameOf = ({ tenant_id, subject }: Named): string =>
  `${tenant_id ?? ''}/${subject}`

/** Returns the elements of `some` whose name none of the `others` has. */
export function without<T extends Named>(some: readonly T[], others: readonly Named[]): T[] {
  const names = new Set(others.map(findingNameOf))
  return some.filter((one) => !names.has(findingNameOf(one)))
}

/** Returns the elements of `some` whose name one of the `others` has. */
export function among<T extends Named>(some: readonly T[], others: readonly Named[]): T[] {
  const names = new Set(others.map(findingNameOf))
  return some.filter((one) => names.has(findingNameOf(one)))
}

/** Groups findings by tenant. The key null stands for the platform. */
export const byTenant = <T extends Named>(some: readonly T[]): Map<number | null, T[]> =>
  Map.groupBy(some, ({ tenant_id }) => tenant_id)
