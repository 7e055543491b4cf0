/** Finds the account that an e-mail address means: in a tenant that is named, or the only one. */
import type { Scopes, TenantTx } from '../../../platform/db/index.ts'
import { findOnlyTenant, findTenantBySubdomain } from '../../tenants/index.ts'
import * as store from './accounts.store.ts'

/** What was found; `tenantId` is known also where there is no such account. */
export interface Located {
  /** The tenant that was named, or is the only one: known without any account. */
  namedTenantId: number | null
  tenantId: number | null
  account: store.Account | undefined
}

/** @param subdomain of the tenant; undefined for the only tenant, or the only account of the address */
export type Locate = (email: string, subdomain: string | undefined) => Promise<Located>

/** @param singleTenant whether there is only one tenant besides the platform's */
export function accountLocator(db: Scopes, singleTenant: boolean): Locate {
  async function tenantOf(tx: TenantTx, subdomain: string | undefined) {
    if (subdomain) return (await findTenantBySubdomain(tx, subdomain.toLowerCase())) ?? 'none'
    return singleTenant ? await findOnlyTenant(tx) : undefined
  }

  return (email, subdomain) =>
    db.acrossTenants(async (tx) => {
      const tenant = await tenantOf(tx, subdomain)
      if (tenant === 'none') return { namedTenantId: null, tenantId: null, account: undefined }
      const account = tenant
        ? await store.findAccount(tx, tenant.id, email)
        : await store.findOnlyAccount(tx, email)
      const namedTenantId = tenant?.id ?? null
      return { namedTenantId, tenantId: namedTenantId ?? account?.tenant_id ?? null, account }
    }, 'read')
}

/** `demo` of `demo.clinic.example` when the service is at `clinic.example`; undefined otherwise. */
export function subdomainOf(host: string, publicHost: string): string | undefined {
  const name = host.replace(/:\d+$/, '').toLowerCase()
  const suffix = `.${publicHost}`
  if (!name.endsWith(suffix)) return undefined
  const label = name.slice(0, -suffix.length)
  return label.includes('.') || label === '' ? undefined : label
}
