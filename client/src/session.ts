/** The tokens of a session: sent with every call, renewed once for all calls that need it. */

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
 * What one sign-in has begun. Whoever signs in next has another: a call knows by it whether those tokens
 * are still its own, as it must never go out as somebody else.
 */
export interface SignedIn {
  tokens: Tokens
  renewing?: Promise<Response | undefined> | undefined
}

export interface Session {
  current(): SignedIn | undefined
  /** Goes on with the tokens of a sign-in. */
  begin(tokens: Tokens): void
  /** Forgets the tokens of this sign-in; those of a later one stay. */
  end(of: SignedIn): void
  /** Sends a request with the access token; renews it and sends once more where it has expired. */
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

  /** Returns undefined once there are new tokens or the session is over, else the answer that says why there are none. */
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
    // Only a refusal ends the session: a service that is away or busy can be asked again.
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
      // The copy holds the body, should it have to be sent a second time.
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

/** RFC 6750 §3.1: a token that has expired, was revoked or is otherwise no longer good. */
function isExpired(answer: Response): boolean {
  const challenge = answer.headers.get('www-authenticate') ?? ''
  return answer.status === 401 && challenge.includes('error="invalid_token"')
}
