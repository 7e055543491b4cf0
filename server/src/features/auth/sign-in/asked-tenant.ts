/** Which tenant somebody who is not signed in is asking for. */
import { type AskedTenant, RESERVED_SUBDOMAINS } from '../../tenants/index.ts'

/** Undefined where nothing names one: then it is the accounts of the address that do. */
export type AskTenant = (
  subdomain: string | null | undefined,
  host: string,
) => AskedTenant | undefined

/**
 * @param publicHost the host of the public address: what stands before it in `Host` is a subdomain
 * @param singleTenant whether there is only one tenant besides the platform's
 */
export function tenantAsker(publicHost: string, singleTenant: boolean): AskTenant {
  return (named, host) => {
    const subdomain = named || subdomainOf(host, publicHost)
    if (subdomain) return { subdomain: subdomain.toLowerCase() }
    return singleTenant ? 'only' : undefined
  }
}

/**
 * `demo` of `demo.clinic.example` when the service is at `clinic.example`; undefined otherwise, and for names that no
 * tenant can have: the service's own, such as `www`.
 */
export function subdomainOf(host: string, publicHost: string): string | undefined {
  const name = host.replace(/:\d+$/, '').toLowerCase()
  const suffix = `.${publicHost}`
  if (!name.endsWith(suffix)) return undefined
  const label = name.slice(0, -suffix.length)
  const isTenants = label !== '' && !label.includes('.') && !RESERVED_SUBDOMAINS.includes(label)
  return isTenants ? label : undefined
}
