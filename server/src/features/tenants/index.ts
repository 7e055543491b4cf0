/** What other features and the composition root may use of tenants. */

export { type PurgeRows, purgeDeletedTenants } from './tenants.jobs.ts'
export { tenantOperations } from './tenants.routes.ts'
export { type EndTenantSessions, type Tenants, tenantsService } from './tenants.service.ts'
export {
  countOperators,
  countTenants,
  findOnlyTenant,
  findPlatformTenant,
  findTenant,
  findTenantBySubdomain,
  insertTenant,
  type KnownTenant,
  lockOperators,
} from './tenants.store.ts'
