/** The requests of the page "Clinic settings". */
import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query'
import { api, type Schemas, take } from '../../api/client.ts'
import type { ClinicName } from '../../shell/clinic.ts'
import type { Role } from '../../words/roles.ts'
import { type ClinicValues, mergeSettings, readSettings } from './values.ts'

/** A clinic as the API returns it. */
export type Tenant = Schemas['Tenant']

const getTenant = (id: number) =>
  take(api.GET('/api/admin/tenants/{tenant_id}', { params: { path: { tenant_id: id } } }))

const tenantKey = (clinicId: number) => ['tenant', clinicId]

/** Loads a clinic. */
export const useTenant = (clinicId: number) =>
  useQuery({ queryKey: tenantKey(clinicId), queryFn: () => getTenant(clinicId) })

/** Counts the active people of a role who have no second factor. */
export const withoutFactorQuery = (clinicId: number, role: Role) =>
  queryOptions({
    queryKey: ['users', clinicId, 'without-factor', role],
    queryFn: async () => {
      const query = {
        tenant_id: clinicId,
        role,
        status: 'active',
        totp_enabled: false,
        limit: 1,
      } as const
      return (await take(api.GET('/api/admin/users', { params: { query } }))).total
    },
  })

/**
 * Returns a function that saves the changes of the form. It keeps the changes that others have saved in the meantime.
 */
export function useSaveTenant(clinicId: number) {
  const queries = useQueryClient()
  return async (saved: ClinicValues, values: ClinicValues): Promise<ClinicValues> => {
    const latest = await getTenant(clinicId)
    const body = {
      ...(values.name !== saved.name && { name: values.name }),
      settings: mergeSettings(latest.settings, saved, values),
    }
    const params = { path: { tenant_id: clinicId } }
    const tenant = await take(api.PUT('/api/admin/tenants/{tenant_id}', { params, body }))
    queries.setQueryData(tenantKey(clinicId), tenant)
    // Updates the cache directly. A user who must now set up a second factor may not send another request.
    queries.setQueriesData<readonly ClinicName[]>({ queryKey: ['clinics'] }, (clinics) =>
      clinics?.map((clinic) =>
        clinic.id === clinicId ? { ...clinic, name: tenant.name } : clinic,
      ),
    )
    return valuesOf(tenant)
  }
}

/** Returns the fields of the form for a clinic. */
export const valuesOf = ({ name, settings }: Tenant): ClinicValues => ({
  name,
  ...readSettings(settings),
})
