/**
 * The routes of the console. Guards the pages, redirects to the sign-in page when the session ends, and returns to the
 * page afterwards.
 */
import { type Query, QueryClientProvider } from '@tanstack/react-query'
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  type ParsedLocation,
  RouterProvider,
  redirect,
} from '@tanstack/react-router'
import { useEffect } from 'react'
import { CONSOLE_PATH } from './api/prefix.ts'
import { queries } from './api/queries.ts'
import { UNKNOWN_WELCOME, welcomeQuery } from './api/welcome.ts'
import { NotFound } from './pages/entry/not-found.tsx'
import { SignIn } from './pages/entry/sign-in.tsx'
import { Unavailable } from './pages/entry/unavailable.tsx'
import { clearToasts } from './parts/toasts.ts'
import { IdleWarning } from './session/idle-warning.tsx'
import { type Person, type SignedOutReason, session, useSessionState } from './session/index.ts'
import { hrefOfNext, safeNext } from './session/next-page.ts'
import { ServiceBanner } from './session/service-banner.tsx'
import { partsRoute, signedInRoutes } from './shell/routes.tsx'

/** How long to wait for the welcome data before the form is shown without them. */
const WELCOME_WAIT_MS = 3000

const rootRoute = createRootRoute({
  component: Root,
  notFoundComponent: NotFound,
  errorComponent: Unavailable,
})

function Root() {
  return (
    <>
      <Outlet />
      <ServiceBanner />
      <IdleWarning />
    </>
  )
}

const readNext = (search: Record<string, unknown>): { next?: string } => {
  const next = safeNext(search.next)
  return next === undefined || next === '/' ? {} : { next }
}

/** Returns the signed-in user, or redirects to the sign-in page. */
async function requirePerson(location: ParsedLocation): Promise<Person> {
  const person = await session.ensure()
  if (!person) throw redirect({ to: '/sign-in', search: readNext({ next: location.href }) })
  return person
}

/** The parent of every page for signed-in people. */
const personRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: 'person',
  component: ForPerson,
})

/**
 * Renders nothing of the page once the session has ended, and redirects to the sign-in page. While the service is
 * unavailable, the state of the session is unknown, and the page shows the failure.
 */
function ForPerson() {
  return useSessionState().status === 'signed-out' ? <ToSignIn /> : <Outlet />
}

function ToSignIn() {
  useEffect(leaveForSignIn, [])
  return null
}

/**
 * The parent of every page with the shell. Users must first have changed an assigned password and set up a required
 * second factor.
 */
const shellRoute = createRoute({
  getParentRoute: () => personRoute,
  id: 'shell',
  beforeLoad: async ({ location }) => {
    const person = await requirePerson(location)
    const search = readNext({ next: location.href })
    if (person.password_change_required) throw redirect({ to: '/new-password', search })
    if (person.enrolment_required) throw redirect({ to: '/second-factor', search })
  },
})

/** The parent of the pages without the shell. Their content depends on the service, so they load its welcome data. */
const entryRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: 'entry',
  loader: async () => {
    if (queries.getQueryData(welcomeQuery.queryKey)) return
    // Shows the form to visitors even if the service is unavailable or slow.
    const welcome = await Promise.race([
      queries.fetchQuery({ ...welcomeQuery, retry: false }).catch(() => undefined),
      new Promise<undefined>((resolve) => setTimeout(resolve, WELCOME_WAIT_MS)),
    ])
    if (!welcome) queries.setQueryData(welcomeQuery.queryKey, UNKNOWN_WELCOME, { updatedAt: 1 })
  },
})

const signInRoute = createRoute({
  getParentRoute: () => entryRoute,
  path: '/sign-in',
  validateSearch: readNext,
  beforeLoad: async ({ search }) => {
    const person = await session.ensure().catch(() => undefined)
    if (person) throw redirect({ href: hrefOfNext(search.next) })
  },
  component: SignIn,
})

const registerRoute = createRoute({
  getParentRoute: () => entryRoute,
  path: '/register',
  component: lazyRouteComponent(() => import('./pages/entry/register.tsx'), 'Register'),
})

const forgottenRoute = createRoute({
  getParentRoute: () => entryRoute,
  path: '/forgotten',
  component: lazyRouteComponent(() => import('./pages/entry/forgotten.tsx'), 'Forgotten'),
})

const resetPasswordRoute = createRoute({
  getParentRoute: () => entryRoute,
  path: '/reset-password',
  component: lazyRouteComponent(() => import('./pages/entry/chosen-password.tsx'), 'ResetPassword'),
})

const invitationRoute = createRoute({
  getParentRoute: () => entryRoute,
  path: '/invitation',
  component: lazyRouteComponent(() => import('./pages/entry/chosen-password.tsx'), 'Invitation'),
})

const verifyEmailRoute = createRoute({
  getParentRoute: () => entryRoute,
  path: '/verify-email',
  component: lazyRouteComponent(() => import('./pages/entry/verify-email.tsx'), 'VerifyEmail'),
})

const newPasswordRoute = createRoute({
  getParentRoute: () => personRoute,
  path: '/new-password',
  validateSearch: readNext,
  beforeLoad: async ({ location, search }) => {
    const { password_change_required } = await requirePerson(location)
    if (!password_change_required) throw redirect({ href: hrefOfNext(search.next) })
  },
  component: lazyRouteComponent(() => import('./pages/entry/new-password.tsx'), 'NewPassword'),
})

const secondFactorRoute = createRoute({
  getParentRoute: () => personRoute,
  path: '/second-factor',
  validateSearch: readNext,
  beforeLoad: async ({ location, search }) => {
    const { enrolment_required } = await requirePerson(location)
    if (!enrolment_required) throw redirect({ href: hrefOfNext(search.next) })
  },
  component: lazyRouteComponent(() => import('./pages/entry/second-factor.tsx'), 'SecondFactor'),
})

const router = createRouter({
  basepath: CONSOLE_PATH,
  routeTree: rootRoute.addChildren([
    personRoute.addChildren([
      shellRoute.addChildren([signedInRoutes(shellRoute)]),
      newPasswordRoute,
      secondFactorRoute,
    ]),
    partsRoute(rootRoute),
    entryRoute.addChildren([
      signInRoute,
      registerRoute,
      forgottenRoute,
      resetPasswordRoute,
      invitationRoute,
      verifyEmailRoute,
    ]),
  ]),
  defaultPreload: 'intent',
  defaultPreloadStaleTime: 0,
  defaultErrorComponent: Unavailable,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}

/** The reasons after which the next sign-in leads back to the page. `none` follows a reload during maintenance. */
const COMING_BACK: readonly SignedOutReason[] = ['idle', 'ended', 'none']

/**
 * Redirects to the sign-in page. After the sign-in the user returns to this page, unless the user signed out on
 * purpose.
 */
function leaveForSignIn(): void {
  const state = session.state()
  const { href, search } = router.latestLocation
  const comesBack = state.status === 'signed-out' && COMING_BACK.includes(state.reason)
  const next = comesBack ? (search.next ?? href) : undefined
  void router.navigate({ to: '/sign-in', search: readNext({ next }), replace: true })
}

/** True for cached data that belongs to a user. The welcome data is the same for everyone, so it stays in the cache. */
const isOfPerson = ({ queryKey }: Query): boolean => queryKey[0] !== welcomeQuery.queryKey[0]

function followSession(): void {
  const { status } = session.state()
  const { pathname, search } = router.latestLocation
  if (status === 'signed-in') {
    if (pathname === '/sign-in') router.history.replace(hrefOfNext(search.next))
    return
  }
  clearToasts()
  void queries.cancelQueries({ predicate: isOfPerson })
  queries.removeQueries({ predicate: isOfPerson })
  queries.getMutationCache().clear()
}

session.subscribe(followSession)

/** The whole console: its routes, the cache and the session. */
export function App() {
  return (
    <QueryClientProvider client={queries}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  )
}
