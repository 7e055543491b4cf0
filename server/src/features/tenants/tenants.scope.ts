import { type Asked, type Found, NONE_FOUND, type PageQuery } from '../../lib/page.ts'
import { requireOwnTenant } from '../../platform/access/index.ts'
import type { TenantTx } from '../../platform/db/index.ts'
import { findTenant } from './tenants.store.ts'

/**
 * As `find`, for a list that may be asked for by `tenant_id`: of another tenant a superadmin asks, and
 * where that was deleted nothing is found.
 * @throws Problem 403 when the caller may not ask for that tenant
 */
export function ofNamedTenant<Q extends PageQuery & { tenant_id?: number }, T>(
  asked: Asked<Q>,
  find: (tx: TenantTx, asked: Asked<Q>) => Promise<Found<T>>,
): (tx: TenantTx) => Promise<Found<T>> {
  const { tenant_id } = asked.query
  requireOwnTenant(asked.caller, tenant_id)
  return async (tx) =>
    tenant_id && tenant_id !== asked.caller.tenant_id && !(await findTenant(tx, tenant_id))
      ? NONE_FOUND
      : find(tx, asked)
}
