/**
 * The clinic whose data the pages show. The URL contains it for superadmins. Other users have only their own clinic.
 */
import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { api, take } from '../api/client.ts'
import type { Person } from '../session/index.ts'
import { usePersonHere } from './person.ts'

/** The start of URLs that name a clinic. */
export const CLINIC_PREFIX = '/t/$clinicId'

/** Returns the id of the clinic that the page shows. */
export function useClinicId(): number {
  const person = usePersonHere()
  const { clinicId } = useParams({ strict: false }) as { clinicId?: string }
  return readClinicId(clinicId) ?? person.tenant_id
}

/** Reads the id of a clinic from a URL. */
export function readClinicId(text: string | undefined): number | undefined {
  return text !== undefined && /^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined
}

/** Returns the URL of a page for a user. */
export function addressOf(
  page: { readonly path: string; readonly isPlatform?: boolean },
  person: Pick<Person, 'role'>,
  clinicId: number,
): string {
  if (person.role !== 'superadmin' || page.isPlatform) return page.path
  return `/t/${clinicId}${page.path === '/' ? '' : page.path}`
}

/** The name of a clinic with its id. */
export interface ClinicName {
  readonly id: number
  readonly name: string
  /** When the clinic was added. Undefined for readers who know only the names. */
  readonly created_at?: string | undefined
}

/** Returns the name of a clinic, or its id if the name is unknown. */
export const clinicName = (clinics: readonly ClinicName[], wanted: number): string =>
  clinics.find(({ id }) => id === wanted)?.name ?? String(wanted)

/**
 * Returns the clinics that the user may know. Superadmins know all, and other users know their own and the public ones.
 */
export function useClinics(): readonly ClinicName[] {
  const { role } = usePersonHere()
  const isListed = role === 'superadmin' || role === 'admin' || role === 'auditor'
  const query = useQuery({
    queryKey: ['clinics', isListed],
    queryFn: (): Promise<readonly ClinicName[]> =>
      take(isListed ? api.GET('/api/admin/tenants') : api.GET('/api/auth/tenants')),
    staleTime: 5 * 60_000,
  })
  return query.data ?? []
}
