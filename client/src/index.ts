/**
 * The typed client of Wardkeep's API: openapi-fetch with the types of `server/openapi.json`, and a session that renews
 * its tokens automatically.
 */
import createFetchClient, { type Client as FetchClient } from 'openapi-fetch'
import { each, type ItemOf, type ListArguments, type ListPath } from './each.ts'
import type { paths } from './generated/api.ts'
import { openSession, type Tokens } from './session.ts'

export { type ItemOf, ListError, type ListPath } from './each.ts'
export type { components, paths } from './generated/api.ts'
export type { Tokens } from './session.ts'

/** The request body of `POST /api/auth/login`. */
export type Credentials =
  paths['/api/auth/login']['post']['requestBody']['content']['application/json']

/** The request body of `POST /api/auth/logout`. */
type SignOut = NonNullable<
  paths['/api/auth/logout']['post']['requestBody']
>['content']['application/json']

export interface ClientOptions {
  /** The URL of the service, such as `https://wardkeep.example`. */
  baseUrl: string
  /** The tokens of an earlier sign-in, to continue its session. */
  tokens?: Tokens
  /** Receives every new pair of tokens, so that the caller can store them. Receives null when the session has ended. */
  onTokens?: (tokens: Tokens | null) => void
  fetch?: (request: Request) => Promise<Response>
}

export interface Client extends FetchClient<paths> {
  /** Signs in and uses the tokens from then on. Returns the response of `POST /api/auth/login`. */
  signIn(credentials: Credentials): ReturnType<typeof login>
  /**
   * Ends the session, or all sessions of the user with `all_devices`. Returns the response of `POST /api/auth/logout`.
   * Drops the tokens if the session has ended, through this call or earlier (401). After any other error the session
   * stays active, and the call can be repeated.
   */
  signOut(options?: { all_devices?: boolean }): ReturnType<typeof logout>
  /**
   * Yields every record of a list, fetching one page after the other.
   * @throws ListError when the service refuses a page
   */
  each<Path extends ListPath>(
    path: Path,
    ...init: ListArguments<Path>
  ): AsyncGenerator<ItemOf<Path>, void, undefined>
}

const login = (api: FetchClient<paths>, body: Credentials) => api.POST('/api/auth/login', { body })
const logout = (api: FetchClient<paths>, body: SignOut) => api.POST('/api/auth/logout', { body })

/** Creates a client. It sends nothing before the first call. */
export function createClient(options: ClientOptions): Client {
  const { baseUrl, fetch: send = globalThis.fetch } = options
  const session = openSession({
    tokens: options.tokens,
    onTokens: options.onTokens,
    send,
    refreshUrl: `${baseUrl.replace(/\/+$/, '')}/api/auth/refresh`,
  })
  const api = createFetchClient<paths>({
    baseUrl,
    fetch: async (request) => withReason(await session.fetch(request)),
    headers: { accept: 'application/json' },
    // Follows no redirect. The service never redirects, and any other server would receive the token.
    redirect: 'error',
  })
  return Object.assign(api, {
    each: <Path extends ListPath>(path: Path, ...init: ListArguments<Path>) =>
      each(api, path, ...init),
    async signIn(credentials: Credentials) {
      const answer = await login(api, credentials)
      if (answer.data) session.begin(answer.data)
      return answer
    },
    async signOut({ all_devices = false }: { all_devices?: boolean } = {}) {
      const own = session.current()
      const refresh_token = own?.tokens.refresh_token ?? null
      const answer = await logout(api, { refresh_token, all_devices })
      const { ok, status } = answer.response
      // Keeps the tokens of a session that is still active, so that it can be ended later.
      if (own && (ok || status === 401)) session.end(own)
      return answer
    },
  })
}

/** Adds an error to a refusal without a body, for example from a proxy. Callers detect failures by `error`. */
async function withReason(answer: Response): Promise<Response> {
  if (answer.ok || (await answer.clone().text()) !== '') return answer
  const { status, statusText } = answer
  return Response.json({ detail: `HTTP ${status}` }, { status, statusText })
}
