/** Whether there is a demo clinic, or was one. */
import { sql } from 'kysely'
import type { TenantTx } from '../../platform/db/index.ts'
import { findAskedTenant, isSubdomainTaken } from '../tenants/index.ts'

export const DEMO_SUBDOMAIN = 'demo'

/** Whether there is one that people can sign in to. */
export async function hasDemo(tx: TenantTx): Promise<boolean> {
  const tenant = await findAskedTenant(tx, { subdomain: DEMO_SUBDOMAIN })
  return tenant?.is_demo === true && tenant.is_active
}

/** Whether one was ever made, or can't be: who has deleted it does not want it back, with a password known to all. */
export async function isDemoDone(tx: TenantTx): Promise<boolean> {
  return (await isSubdomainTaken(tx, DEMO_SUBDOMAIN)) || wasMade(tx)
}

async function wasMade(tx: TenantTx): Promise<boolean> {
  const { rows } = await sql<{ was_made: boolean }>`
    select exists (select from journal where action = 'tenant.created' and resource_type = 'tenant'
      and changes -> 'demo' = 'true') as was_made`.execute(tx.db)
  return rows[0]?.was_made === true
}
