/** The facts that a visitor may know before signing in. */
import { queryOptions } from '@tanstack/react-query'
import { api, type Schemas, take } from './client.ts'
import { send } from './http.ts'
import { PREFIX } from './prefix.ts'

/** The response of `GET /api/console/welcome`. */
export interface Welcome {
  /** The tenant that the Host header of the request names. */
  tenant: { name: string; subdomain: string } | null
  demo: {
    subdomain: string
    password: string
    people: readonly { email: string; full_name: string; role: Schemas['Profile']['role'] }[]
  } | null
  password_reset_available: boolean
  registration_available: boolean
}

/** The welcome data to assume while the service does not respond, so that the sign-in form is still shown. */
export const UNKNOWN_WELCOME: Welcome = {
  tenant: null,
  demo: null,
  password_reset_available: false,
  registration_available: false,
}

const STALE_MS = 60_000

export const welcomeQuery = queryOptions({
  queryKey: ['welcome'],
  staleTime: STALE_MS,
  queryFn: async ({ signal }): Promise<Welcome> => {
    const response = await send(new Request(`${PREFIX}/api/console/welcome`, { signal }))
    return response.json()
  },
})

/** The tenants that are listed publicly. */
export const publicTenantsQuery = queryOptions({
  queryKey: ['public-tenants'],
  staleTime: STALE_MS,
  queryFn: ({ signal }) => take(api.GET('/api/auth/tenants', { signal })),
})

/** The departments that a new account of a tenant can choose. */
export const publicDepartmentsQuery = (subdomain: string) =>
  queryOptions({
    queryKey: ['public-departments', subdomain],
    staleTime: STALE_MS,
    enabled: subdomain !== '',
    queryFn: ({ signal }) =>
      take(api.GET('/api/auth/departments', { signal, params: { query: { subdomain } } })),
  })
