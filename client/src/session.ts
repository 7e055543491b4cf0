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

export interface Session {
  tokens(): Tokens | undefined
  /** Goes on with these tokens; null forgets the session. */
  keep(tokens: Tokens | null): void
  /** Sends a request with the access token; renews it and sends once more where it has expired. */
  fetch(request: Request): Promise<Response>
}

export function openSession({ tokens, onTokens, send, refreshUrl }: SessionOptions): Session {
  let current = tokens
  let renewing: Promise<Response | undefined> | undefined

  function keep(next: Tokens | null): void {
    current = next
      ? { access_token: next.access_token, refresh_token: next.refresh_token }
      : undefined
    onTokens?.(current ?? null)
  }

  /** Returns undefined once there are new tokens, else the answer that says why there are none. */
  async function renew({ refresh_token }: Tokens): Promise<Response | undefined> {
    const answer = await send(
      new Request(refreshUrl, {
        method: 'POST',
        headers: { accept: 'application/json', 'content-type': 'application/json' },
        body: JSON.stringify({ refresh_token }),
        redirect: 'error',
      }),
    )
    if (answer.ok) {
      keep((await answer.json()) as Tokens)
      return undefined
    }
    // Only a refusal ends the session: a service that is away or busy can be asked again.
    if (answer.status === 401) keep(null)
    return answer
  }

  return {
    tokens: () => current,
    keep,
    async fetch(request) {
      if (!current) return send(request)
      const used = current
      // The copy holds the body, should it have to be sent a second time.
      const again = request.clone()
      const answer = await send(withToken(request, used))
      if (!isExpired(answer)) return answer
      if (current === used) {
        renewing ??= renew(used).finally(() => {
          renewing = undefined
        })
        const refused = await renewing
        if (refused) return refused.clone()
      }
      return current ? send(withToken(again, current)) : answer
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
