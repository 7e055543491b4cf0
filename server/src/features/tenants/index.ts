/** Public exports of the tenants feature for other features and the composition root. */

export { deleteTenants, leavingTenants } from './restored.store.ts'
export { purgeDeletedTenants } from './tenants.jobs.ts'
export { RESERVED_SUBDOMAINS } from './tenants.schema.ts'
export { ofNamedTenant } from './tenants.scope.ts'
export { tenantEntry } from './tenants.service.ts'
export {
  type AskedTenant,
  countOperators,
  eventTenantId,
  findAskedTenant,
  findAskedTenantId,
  findPlatformTenant,
  findTenant,
  insertTenant,
  isAskedFor,
  isSubdomainTaken,
  type KnownTenant,
  lockOperators,
  shareTenant,
} from './tenants.store.ts'
export { openTenants } from './tenants.ts'
