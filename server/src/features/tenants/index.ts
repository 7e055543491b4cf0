/** What other features and the composition root may use of tenants. */

export { purgeDeletedTenants } from './tenants.jobs.ts'
export { tenantEntry } from './tenants.journal.ts'
export { ofNamedTenant } from './tenants.scope.ts'
export {
  type AskedTenant,
  countOperators,
  findAskedTenant,
  findAskedTenantId,
  findPlatformTenant,
  findTenant,
  insertTenant,
  isAskedFor,
  type KnownTenant,
  lockOperators,
} from './tenants.store.ts'
export { openTenants } from './tenants.ts'
