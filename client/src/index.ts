/**
 * The typed client of Wardkeep's API: openapi-fetch with the types of `server/openapi.json`, and a
 * session that renews its tokens by itself.
 */
import createFetchClient, { type Client as FetchClient } from 'openapi-fetch'
import { each, type ItemOf, type ListArguments, type ListPath } from './each.ts'
import type { paths } from './generated/api.ts'
import { openSession, type Tokens } from './session.ts'

export { type ItemOf, ListError, type ListPath } from './each.ts'
export type { components, paths } from './generated/api.ts'
export type { Tokens } from './session.ts'

/** What `POST /api/auth/login` takes. */
export type Credentials =
  paths['/api/auth/login']['post']['requestBody']['content']['application/json']

/** What `POST /api/auth/logout` takes. */
type SignOut = NonNullable<
  paths['/api/auth/logout']['post']['requestBody']
>['content']['application/json']

export interface ClientOptions {
  /** Where the service is, such as `https://wardkeep.example`. */
  baseUrl: string
  /** The tokens of an earlier sign-in, to go on with it. */
  tokens?: Tokens
  /** Told of every new pair of tokens, and of null when the session has ended; for keeping them. */
  onTokens?: (tokens: Tokens | null) => void
  fetch?: (request: Request) => Promise<Response>
}

export interface Client extends FetchClient<paths> {
  /** Signs in and goes on with the tokens. Returns what `POST /api/auth/login` returns. */
  signIn(credentials: Credentials): ReturnType<typeof login>
  /**
   * Ends the session, or with `all_devices` all of the user's. Returns what `POST /api/auth/logout` returns.
   * The tokens are forgotten when the session has ended, by this call or before (401). After any other error it
   * lives on, and this can be called again.
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

/** Opens a client. It sends nothing before the first call. */
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
    // The service never redirects; what does would be given the token.
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
      // What still lives needs its tokens, to be ended later.
      if (own && (ok || status === 401)) session.end(own)
      return answer
    },
  })
}

/** A proxy's refusal may come without a body; callers tell a failure by `error` being there. */
async function withReason(answer: Response): Promise<Response> {
  if (answer.ok || (await answer.clone().text()) !== '') return answer
  const { status, statusText } = answer
  return Response.json({ detail: `HTTP ${status}` }, { status, statusText })
}
