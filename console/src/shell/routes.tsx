/** The routes of the signed-in pages, generated from the table of pages. */
import {
  type AnyRoute,
  createRoute,
  lazyRouteComponent,
  notFound,
  type ParsedLocation,
  redirect,
} from '@tanstack/react-router'
import { session } from '../session/index.ts'
import { addressOf, CLINIC_PREFIX, readClinicId } from './clinic.ts'
import { type ConsolePage, pages, pagesFor } from './pages.ts'

/** Loads the frame of the pages on demand, because the sign-in page does not need it. */
const frame = () => import('./page-frame.tsx')

/**
 * Creates the routes of the signed-in console.
 * @param parent the route that lets only signed-in people through
 */
export function signedInRoutes<Parent extends AnyRoute>(parent: Parent) {
  const shell = createRoute({
    getParentRoute: () => parent,
    id: 'frame',
    component: lazyRouteComponent(() => import('./shell.tsx'), 'Shell'),
    notFoundComponent: lazyRouteComponent(frame, 'NotFound'),
  })
  const clinic = createRoute({
    getParentRoute: () => shell,
    path: CLINIC_PREFIX,
    beforeLoad: ({ params, location }) => requireClinic(params.clinicId, location),
  })
  const ofPlatform = pages.filter(({ isPlatform }) => isPlatform)
  const ofClinic = pages.filter(({ isPlatform }) => !isPlatform)
  return shell.addChildren([
    ...ofPlatform.map((page) => pageRoute(shell, page)),
    startRoute(shell),
    ...ofClinic.map((page) => pageRoute(shell, page, addClinic)),
    clinic.addChildren([startRoute(clinic), ...ofClinic.map((page) => pageRoute(clinic, page))]),
  ])
}

const LOOPBACK: readonly string[] = ['localhost', '127.0.0.1', '[::1]']

/** Creates the route of the gallery of parts, which needs no session. The route exists only in development. */
export function partsRoute<Parent extends AnyRoute>(parent: Parent) {
  return createRoute({
    getParentRoute: () => parent,
    path: '/parts',
    beforeLoad: () => {
      if (!LOOPBACK.includes(location.hostname)) throw notFound()
    },
    component: lazyRouteComponent(() => import('../pages/parts-gallery/gallery.tsx'), 'Gallery'),
  })
}

/** Creates the start route, which redirects to the first page of the user. */
function startRoute<Parent extends AnyRoute>(parent: Parent) {
  return createRoute({
    getParentRoute: () => parent,
    path: '/',
    beforeLoad: ({ params }) => {
      const state = session.state()
      if (state.status !== 'signed-in') return
      const { person } = state
      const first = pagesFor(person.role)[0]
      const { clinicId } = params as { clinicId?: string }
      const clinic = readClinicId(clinicId) ?? person.tenant_id
      if (first) throw redirect({ to: addressOf(first, person, clinic), replace: true })
    },
  })
}

function pageRoute<Parent extends AnyRoute>(
  parent: Parent,
  page: ConsolePage,
  beforeLoad?: (location: ParsedLocation) => void,
) {
  const load = async () => {
    const [{ guarded }, { Page }] = await Promise.all([frame(), page.load()])
    return { Page: guarded(page, Page) }
  }
  return createRoute({
    getParentRoute: () => parent,
    path: page.path,
    component: lazyRouteComponent(load, 'Page'),
    ...(beforeLoad && { beforeLoad: ({ location }) => beforeLoad(location) }),
  })
}

/** Adds the user's own clinic to the URL of a superadmin. */
function addClinic(location: ParsedLocation): void {
  const state = session.state()
  if (state.status !== 'signed-in' || state.person.role !== 'superadmin') return
  const to = addressOf({ path: location.pathname }, state.person, state.person.tenant_id)
  throw redirect({ to, search: location.search, replace: true })
}

/** Removes the clinic from the URLs of other users, and corrects a URL without a valid clinic. */
function requireClinic(clinicId: string, location: ParsedLocation): void {
  const state = session.state()
  if (state.status !== 'signed-in') return
  const { person } = state
  if (person.role === 'superadmin' && readClinicId(clinicId) !== undefined) return
  const path = location.pathname.replace(/^\/t\/[^/]*/, '') || '/'
  const to = addressOf({ path }, person, person.tenant_id)
  throw redirect({ to, search: location.search, replace: true })
}
