import { minRetentionDays } from '../../config/audit-variables.ts'
import type { Needs } from '../../core.ts'
import type { Feature } from '../../platform/feature/feature.ts'
import { TENANT_COLUMNS } from './tenants.restore.ts'
import { tenantOperations } from './tenants.routes.ts'
import { type Tenants, type TenantsDeps, tenantsService } from './tenants.service.ts'
import { countTenants } from './tenants.store.ts'
import { TENANT_TABLES } from './tenants.table.ts'

type Core = Needs<
  'db' | 'clock' | 'changes',
  'TENANT_MODE' | 'TENANT_PURGE_DAYS' | 'WEBHOOK_RETENTION_DAYS'
>

export function openTenants(
  { db, clock, changes, config }: Core,
  { endSessions, requireSignedIn }: Pick<TenantsDeps, 'endSessions' | 'requireSignedIn'>,
): Feature & { service: Tenants } {
  const purgeDays = config.TENANT_PURGE_DAYS
  const service = tenantsService({ db, clock, changes, endSessions, requireSignedIn, purgeDays })
  return {
    name: 'tenants',
    tables: TENANT_TABLES,
    columns: TENANT_COLUMNS,
    service,
    operations: tenantOperations(service, minRetentionDays(config.WEBHOOK_RETENTION_DAYS)),
    conflicts: { tenants__subdomain: 'subdomain_taken' },
    counts: { tenants_count: countTenants },
    capabilities: { tenant_mode: config.TENANT_MODE === 'multi' },
  }
}
