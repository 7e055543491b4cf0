import { type Found, NONE_FOUND, type PageQuery, type PageRequest } from '../../lib/page.ts'
import { requireOwnTenant } from '../../platform/access/index.ts'
import type { TenantTx } from '../../platform/db/index.ts'
import { findTenant } from './tenants.store.ts'

/**
 * Runs `find` for a list that may be filtered by `tenant_id`. Returns an empty list if a superadmin requests a deleted
 * tenant.
 * @throws Problem 403 if the caller may not see the tenant
 */
export function ofNamedTenant<Q extends PageQuery & { tenant_id?: number }, T>(
  asked: PageRequest<Q>,
  find: (tx: TenantTx, asked: PageRequest<Q>) => Promise<Found<T>>,
): (tx: TenantTx) => Promise<Found<T>> {
  const { tenant_id } = asked.query
  requireOwnTenant(asked.caller, tenant_id)
  return async (tx) =>
    tenant_id && tenant_id !== asked.caller.tenant_id && !(await findTenant(tx, tenant_id))
      ? NONE_FOUND
      : find(tx, asked)
}
