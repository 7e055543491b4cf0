/** Determines the tenant that an anonymous request refers to. */
import { type AskedTenant, RESERVED_SUBDOMAINS } from '../../tenants/index.ts'

/** Returns the requested tenant. Undefined if none is named: sign-in then tries all tenants. */
export type AskTenant = (
  subdomain: string | null | undefined,
  host: string,
) => AskedTenant | undefined

/**
 * Returns a function that determines the requested tenant.
 * @param publicHost the host of the public URL; a label in front of this host in the `Host` header is a subdomain
 * @param singleTenant true if there is only one tenant besides the platform tenant
 */
export function tenantAsker(publicHost: string, singleTenant: boolean): AskTenant {
  return (named, host) => {
    const subdomain = named || subdomainOf(host, publicHost)
    if (subdomain) return { subdomain: subdomain.toLowerCase() }
    return singleTenant ? 'only' : undefined
  }
}

/**
 * Returns the subdomain in a host name: `demo` for `demo.clinic.example` if the service is at `clinic.example`. Returns
 * undefined for other hosts, and for reserved names such as `www` that no tenant can have.
 */
export function subdomainOf(host: string, publicHost: string): string | undefined {
  const name = host.replace(/:\d+$/, '').toLowerCase()
  const suffix = `.${publicHost}`
  if (!name.endsWith(suffix)) return undefined
  const label = name.slice(0, -suffix.length)
  const isTenants = label !== '' && !label.includes('.') && !RESERVED_SUBDOMAINS.includes(label)
  return isTenants ? label : undefined
}
