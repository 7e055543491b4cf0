/** SQL queries that check whether a demo clinic exists or existed before. */
import { sql } from 'kysely'
import type { TenantTx } from '../../platform/db/index.ts'
import { findAskedTenant, isSubdomainTaken } from '../tenants/index.ts'

export const DEMO_SUBDOMAIN = 'demo'

/** Returns whether there is a demo clinic to which users can sign in. */
export async function hasDemo(tx: TenantTx): Promise<boolean> {
  const tenant = await findAskedTenant(tx, { subdomain: DEMO_SUBDOMAIN })
  return tenant?.is_demo === true && tenant.is_active
}

/** Returns whether a demo existed before or another tenant uses its subdomain. A deleted demo stays deleted. */
export async function isDemoDone(tx: TenantTx): Promise<boolean> {
  return (await isSubdomainTaken(tx, DEMO_SUBDOMAIN)) || wasMade(tx)
}

async function wasMade(tx: TenantTx): Promise<boolean> {
  const { rows } = await sql<{ was_made: boolean }>`
    select exists (select from journal where action = 'tenant.created' and resource_type = 'tenant'
      and changes -> 'demo' = 'true') as was_made`.execute(tx.db)
  return rows[0]?.was_made === true
}
