/** The routes of the console, and what follows the session: the guard, the sign-out and the way back. */
import { QueryClientProvider } from '@tanstack/react-query'
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
import { CONSOLE_PATH } from './api/prefix.ts'
import { queries } from './api/queries.ts'
import { UNKNOWN_WELCOME, welcomeQuery } from './api/welcome.ts'
import { NotFound } from './pages/entry/not-found.tsx'
import { SignIn } from './pages/entry/sign-in.tsx'
import { Unavailable } from './pages/entry/unavailable.tsx'
import { IdleWarning } from './session/idle-warning.tsx'
import { type Person, session, usePerson } from './session/index.ts'
import { hrefOfNext, safeNext } from './session/next-page.ts'
import { ServiceBanner } from './session/service-banner.tsx'

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

/** Returns the signed-in person, or leads to the sign-in page. */
async function requirePerson(location: ParsedLocation): Promise<Person> {
  const person = await session.ensure()
  if (!person) throw redirect({ to: '/sign-in', search: readNext({ next: location.href }) })
  return person
}

/** The parent of every page with the shell: for signed-in people who owe neither a password nor a second factor. */
export const shellRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: 'shell',
  beforeLoad: async ({ location }) => {
    const person = await requirePerson(location)
    const search = readNext({ next: location.href })
    if (person.password_change_required) throw redirect({ to: '/new-password', search })
    if (person.enrolment_required) throw redirect({ to: '/second-factor', search })
  },
  component: Shell,
})

/** Shows nothing of a page from the moment on when nobody is signed in. */
function Shell() {
  return usePerson() ? <Outlet /> : null
}

const homeRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/',
  component: lazyRouteComponent(() => import('./pages/entry/signed-in.tsx'), 'SignedIn'),
})

/** The parent of the pages without the shell. What they offer depends on the service, so they load its welcome. */
const entryRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: 'entry',
  loader: async () => {
    if (queries.getQueryData(welcomeQuery.queryKey)) return
    // A service that is away keeps nobody from the form.
    const welcome = await queries
      .fetchQuery({ ...welcomeQuery, retry: false })
      .catch(() => undefined)
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
  getParentRoute: () => rootRoute,
  path: '/new-password',
  validateSearch: readNext,
  beforeLoad: async ({ location, search }) => {
    const { password_change_required } = await requirePerson(location)
    if (!password_change_required) throw redirect({ href: hrefOfNext(search.next) })
  },
  component: lazyRouteComponent(() => import('./pages/entry/new-password.tsx'), 'NewPassword'),
})

const secondFactorRoute = createRoute({
  getParentRoute: () => rootRoute,
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
    shellRoute.addChildren([homeRoute]),
    entryRoute.addChildren([
      signInRoute,
      registerRoute,
      forgottenRoute,
      resetPasswordRoute,
      invitationRoute,
      verifyEmailRoute,
    ]),
    newPasswordRoute,
    secondFactorRoute,
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

/** Pages that stay when nobody is signed in. */
const isEntryPage = (): boolean => router.state.matches.some(({ routeId }) => routeId === '/entry')

function followSession(): void {
  const state = session.state()
  const { pathname, href, search } = router.state.location
  if (state.status === 'signed-in') {
    if (pathname === '/sign-in') router.history.replace(hrefOfNext(search.next))
  } else if (state.status === 'signed-out' && state.reason !== 'none' && !isEntryPage()) {
    void queries.cancelQueries()
    queries.clear()
    const comesBack = state.reason === 'idle' || state.reason === 'ended'
    const next = comesBack ? (search.next ?? href) : undefined
    void router.navigate({ to: '/sign-in', search: readNext({ next }), replace: true })
  }
}

session.subscribe(followSession)

/** The console. */
export function App() {
  return (
    <QueryClientProvider client={queries}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  )
}
