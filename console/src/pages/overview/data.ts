/** The series and links of the overview. */
import { useRouter } from '@tanstack/react-router'
import type { StatsSeries } from '../../parts/chart/stats.ts'
import { addressOf, CLINIC_PREFIX, useClinicId } from '../../shell/clinic.ts'
import { usePersonHere } from '../../shell/person.ts'

/** The series of the figures and charts, which one request loads together. */
export const SHOWN_SERIES = [
  'sign_ins',
  'refused_sign_ins',
  'changes',
  'deliveries_delivered',
  'deliveries_failed',
] as const satisfies readonly StatsSeries[]

/** Returns a function that finds the URL of a page. The function returns undefined for a page that does not exist. */
export function usePageAddress(): (path: string) => string | undefined {
  const person = usePersonHere()
  const clinicId = useClinicId()
  const { routesByPath } = useRouter()
  const isRoute = (path: string) => Object.hasOwn(routesByPath, path)
  return (path) => {
    if (!isRoute(path)) return undefined
    return addressOf({ path, isPlatform: !isRoute(`${CLINIC_PREFIX}${path}`) }, person, clinicId)
  }
}
