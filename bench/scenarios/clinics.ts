/** Clinics whose admins have registered webhooks through the API. */
import { PASSWORD, subdomainOf } from '../seed/sizes.ts'
import { SUPERADMIN, signIn } from '../service.ts'

/**
 * Creates `count` tenants, each with an admin who registers its share of `urls` for one event. Returns the tenants'
 * ids. `urls[i]` belongs to tenant `i % count`.
 */
export async function makeClinics(
  service: string,
  count: number,
  urls: readonly string[],
  event: string,
): Promise<number[]> {
  const { access_token } = await signIn(service, SUPERADMIN.email, SUPERADMIN.password, 'platform')
  const make = async (clinic: number) => {
    const subdomain = subdomainOf(clinic)
    const email = `admin@${subdomain}.example`
    const tenant = await post(`${service}/api/admin/tenants`, access_token, {
      name: `Clinic ${clinic}`,
      subdomain,
    })
    await post(`${service}/api/admin/users`, access_token, {
      email,
      password: PASSWORD,
      full_name: 'Ada Admin',
      role: 'admin',
      tenant_id: tenant.id,
    })
    const admin = await signIn(service, email, PASSWORD, subdomain)
    for (const url of urls.filter((_, index) => index % count === clinic))
      await post(`${service}/api/webhooks/register`, admin.access_token, { url, events: [event] })
    return tenant.id
  }
  return Promise.all(Array.from({ length: count }, (_, clinic) => make(clinic)))
}

async function post(url: string, token: string, body: object): Promise<{ id: number }> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${await response.text()}`)
  return (await response.json()) as { id: number }
}
