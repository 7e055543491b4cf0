/** The tokens of a session. They are sent with every call, and renewed once for all calls that need new ones. */

export interface Tokens {
  access_token: string
  refresh_token: string
}

export interface SessionOptions {
  tokens?: Tokens | undefined
  onTokens?: ((tokens: Tokens | null) => void) | undefined
  send: (request: Request) => Promise<Response>
  refreshUrl: string
}

/**
 * The session of one sign-in. The next sign-in creates another session. A call compares the two, so that it is never
 * sent as another user.
 */
export interface SignedIn {
  tokens: Tokens
  renewing?: Promise<Response | undefined> | undefined
}

export interface Session {
  current(): SignedIn | undefined
  /** Starts the session of a sign-in with its tokens. */
  begin(tokens: Tokens): void
  /** Drops the tokens of this session. The tokens of a later session stay. */
  end(of: SignedIn): void
  /** Sends a request with the access token. Renews an expired token and sends the request again. */
  fetch(request: Request): Promise<Response>
}

export function openSession({ tokens, onTokens, send, refreshUrl }: SessionOptions): Session {
  let current: SignedIn | undefined = tokens && { tokens }

  function begin({ access_token, refresh_token }: Tokens): void {
    current = { tokens: { access_token, refresh_token } }
    onTokens?.(current.tokens)
  }

  function end(of: SignedIn): void {
    if (current !== of) return
    current = undefined
    onTokens?.(null)
  }

  /**
   * Renews the tokens. Returns undefined if that succeeded or the session has ended, otherwise the response with the
   * error.
   */
  async function renew(of: SignedIn): Promise<Response | undefined> {
    const answer = await send(
      new Request(refreshUrl, {
        method: 'POST',
        headers: { accept: 'application/json', 'content-type': 'application/json' },
        body: JSON.stringify({ refresh_token: of.tokens.refresh_token }),
        redirect: 'error',
      }),
    )
    if (answer.ok) {
      const { access_token, refresh_token } = (await answer.json()) as Tokens
      if (current !== of) return undefined
      of.tokens = { access_token, refresh_token }
      onTokens?.(of.tokens)
      return undefined
    }
    // Only a 401 ends the session. If the service is unavailable or busy, the renewal can be tried again.
    if (answer.status === 401) end(of)
    return answer
  }

  return {
    current: () => current,
    begin,
    end,
    async fetch(request) {
      if (!current) return send(request)
      const own = current
      const used = own.tokens
      // The copy keeps the body, in case the request has to be sent again.
      const again = request.clone()
      const answer = await send(withToken(request, used))
      if (!isExpired(answer)) return answer
      if (current === own && own.tokens === used) {
        own.renewing ??= renew(own).finally(() => {
          own.renewing = undefined
        })
        const refused = await own.renewing
        if (refused) return refused.clone()
      }
      return current === own ? send(withToken(again, own.tokens)) : answer
    },
  }
}

function withToken(request: Request, { access_token }: Tokens): Request {
  request.headers.set('authorization', `Bearer ${access_token}`)
  return request
}

/** Returns true for an expired, revoked or otherwise invalid token (RFC 6750 §3.1). */
function isExpired(answer: Response): boolean {
  const challenge = answer.headers.get('www-authenticate') ?? ''
  return answer.status === 401 && challenge.includes('error="invalid_token"')
}
