/**
 * Resolves host names. For names that tenants choose, uses c-ares instead of dns.lookup. dns.lookup (getaddrinfo)
 * blocks one of the few threads that also hash passwords. The unresponsive DNS server of a tenant could therefore stop
 * sign-ins. c-ares needs no thread, but does not support /etc/hosts and search domains.
 */
import { promises as dns } from 'node:dns'
import { MINUTE } from '../../lib/clock.ts'
import type { Time } from '../../lib/time.ts'
import { unlessAborted } from './context.ts'
import { DialError } from './dial-error.ts'

/**
 * Returns the IPv4 and IPv6 addresses of a name. The signal aborts when the caller stops waiting.
 * @throws Error with a message for people if the name has no address or cannot be resolved
 */
export type Resolver = (hostname: string, signal: AbortSignal) => Promise<string[]>

export interface DnsOptions {
  /** Returns the DNS servers to use, each as `address` or `address:port`. Defaults to those of the system. */
  servers?: () => string[]
  /**
   * Maximum milliseconds to wait for one response. c-ares waits for a shorter time if the server has been fast before.
   */
  timeoutMs?: number
  /** Number of attempts per server. */
  tries?: number
  clock: Pick<Time, 'monotonic'>
}

/** How often to read the list of DNS servers again. The list changes with the networks of a machine or container. */
const RENEW_MS = MINUTE

const WORDS: Record<string, string> = {
  ENODATA: 'the host name has no address',
  ENOTFOUND: 'the host name does not exist',
  ETIMEOUT: 'DNS did not respond',
}

/** Creates a resolver that always queries the current servers. Queries to earlier servers can still complete. */
export function dnsResolver(options: DnsOptions): Resolver {
  const { clock } = options
  let readAt = clock.monotonic()
  let ask = askServers(options)
  return (hostname, signal) => {
    if (clock.monotonic() - readAt >= RENEW_MS) {
      readAt = clock.monotonic()
      ask = askServers(options)
    }
    return ask(hostname, signal)
  }
}

/** Creates a resolver for a fixed set of servers. c-ares reads the system's servers only when it is created. */
function askServers({ servers, timeoutMs = 2000, tries = 3 }: DnsOptions): Resolver {
  const resolver = new dns.Resolver({ timeout: timeoutMs, maxTimeout: timeoutMs, tries })
  if (servers) resolver.setServers(servers())
  /** Running queries by host name. Concurrent callers for the same name share a query. */
  const asked = new Map<string, Promise<string[]>>()
  let waiting = 0

  function ask(hostname: string): Promise<string[]> {
    const answer = bothFamilies(resolver, hostname).finally(() => {
      if (asked.get(hostname) === answer) asked.delete(hostname)
    })
    asked.set(hostname, answer)
    return answer
  }

  /** Cancels all queries when the last caller stops waiting. c-ares cannot cancel a single query. */
  function leave(): void {
    waiting -= 1
    if (waiting > 0 || asked.size === 0) return
    asked.clear()
    resolver.cancel()
  }

  return async (hostname, signal) => {
    signal.throwIfAborted()
    waiting += 1
    try {
      return await unlessAborted(asked.get(hostname) ?? ask(hostname), signal)
    } finally {
      leave()
    }
  }
}

/** The signature of `dns.lookup`, which uses getaddrinfo. */
type Lookup = (hostname: string, options: { all: true }) => Promise<{ address: string }[]>

/**
 * Resolves names that the operator chooses with the system's resolver, including /etc/hosts and search domains. Each
 * lookup occupies a thread, so concurrent callers for the same name share a lookup. A caller can stop waiting, but the
 * lookup continues.
 */
export function systemResolver(lookup: Lookup = dns.lookup): Resolver {
  const asked = new Map<string, Promise<string[]>>()

  async function ask(hostname: string): Promise<string[]> {
    try {
      return (await lookup(hostname, { all: true })).map(({ address }) => address)
    } catch (error) {
      const { code = 'unknown' } = error as NodeJS.ErrnoException
      throw new DialError(
        'name_not_resolved',
        WORDS[code] ?? `the host name cannot be resolved (${code})`,
      )
    } finally {
      asked.delete(hostname)
    }
  }

  return (hostname, signal) => {
    const answer = asked.get(hostname) ?? ask(hostname)
    asked.set(hostname, answer)
    return unlessAborted(answer, signal)
  }
}

/** Queries both address families and waits for both. The result then does not depend on which one is faster. */
async function bothFamilies(resolver: dns.Resolver, hostname: string): Promise<string[]> {
  const answers = await Promise.allSettled([
    resolver.resolve4(hostname),
    resolver.resolve6(hostname),
  ])
  const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
  if (found.length > 0) return found
  const codes = answers.map((answer) =>
    answer.status === 'rejected' ? answer.reason.code : 'ENODATA',
  )
  // Prefers the other error, because a missing address in one family does not explain the failure.
  const code = codes.find((each) => each !== 'ENODATA') ?? 'ENODATA'
  throw new DialError('name_not_resolved', WORDS[code] ?? `DNS failed (${code})`)
}
