/** What other features and the composition root may use of tenants. */

export { type PurgeRows, purgeDeletedTenants } from './tenants.jobs.ts'
export { tenantOperations } from './tenants.routes.ts'
export { type EndTenantSessions, type Tenants, tenantsService } from './tenants.service.ts'
export {
  type AskedTenant,
  countOperators,
  countTenants,
  findAskedTenant,
  findPlatformTenant,
  findTenant,
  insertTenant,
  isAskedFor,
  type KnownTenant,
  lockOperators,
} from './tenants.store.ts'
