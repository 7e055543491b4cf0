/** Sends requests to one URL that the operator has configured, over connections that stay open. */
import { ANYWHERE } from './addresses.ts'
import { dialler, type TlsIdentity } from './dial.ts'
import { openExchanges, type Transfer } from './exchanges.ts'
import { type Resolver, systemResolver } from './resolver.ts'

/** How long a connection stays open for the next request (milliseconds), unless its server specifies a time. */
const IDLE_MS = 15_000
const MAX_ANSWER = 64 * 1024

export interface PostTarget {
  /**
   * Sends one POST and never follows redirects. Never throws. The server may receive the request twice, so it must
   * recognise repetitions.
   */
  post(request: {
    headers: Record<string, string>
    body: Buffer
    deadlineMs: number
    signal: AbortSignal
  }): Promise<Transfer>
  close(): Promise<void>
}

export function openPostTarget(
  url: URL,
  identity: TlsIdentity,
  resolver: Resolver = systemResolver(),
): PostTarget {
  const exchanges = openExchanges(dialler({ policy: ANYWHERE, resolver, identity }), IDLE_MS)
  return {
    post: (request) =>
      exchanges.transfer(
        {
          ...request,
          method: 'POST',
          keepBytes: MAX_ANSWER,
          isRepeatable: true,
        },
        () => url,
      ),
    close: exchanges.close,
  }
}
