/**
 * Asks for the addresses of a name. For names that tenants choose not with dns.lookup: getaddrinfo blocks
 * one of the few threads that also hash passwords, so a tenant's DNS server that never answers could stop
 * sign-ins. c-ares waits without a thread. It knows neither /etc/hosts nor search domains.
 */
import { promises as dns } from 'node:dns'
import { MINUTE } from '../../lib/clock.ts'
import type { Time } from '../../lib/time.ts'
import { unlessAborted } from './context.ts'
import { DialError } from './dial-error.ts'

/**
 * Returns the IPv4 and IPv6 addresses of a name. The signal tells that nobody waits any more.
 * @throws Error whose message says, for people, why there are none
 */
export type Resolver = (hostname: string, signal: AbortSignal) => Promise<string[]>

export interface DnsOptions {
  /** The servers as they are now, each `address` or `address:port`; those of the system by default. */
  servers?: () => string[]
  /** The longest wait for one answer. c-ares waits less for servers that have been quick. */
  timeoutMs?: number
  /** How often each server is asked. */
  tries?: number
  clock: Pick<Time, 'monotonic'>
}

/** After this the servers are read anew: those of a machine or a container change with its networks. */
const RENEW_MS = MINUTE

const WORDS: Record<string, string> = {
  ENODATA: 'the name has no address',
  ENOTFOUND: 'the name does not exist',
  ETIMEOUT: 'DNS did not answer',
}

/** Asks the servers that there are; what was asked of earlier ones is still waited for. */
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

/** c-ares reads the system's servers when its resolver is made, and never again. */
function askServers({ servers, timeoutMs = 2000, tries = 3 }: DnsOptions): Resolver {
  const resolver = new dns.Resolver({ timeout: timeoutMs, maxTimeout: timeoutMs, tries })
  if (servers) resolver.setServers(servers())
  /** What is being asked; who wants to know the same meanwhile waits along. */
  const asked = new Map<string, Promise<string[]>>()
  let waiting = 0

  function ask(hostname: string): Promise<string[]> {
    const answer = bothFamilies(resolver, hostname).finally(() => {
      if (asked.get(hostname) === answer) asked.delete(hostname)
    })
    asked.set(hostname, answer)
    return answer
  }

  /** c-ares can only cancel everything, so it is done when nobody waits for anything. */
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

/** getaddrinfo's answer, as `dns.lookup` gives it. */
type Lookup = (hostname: string, options: { all: true }) => Promise<{ address: string }[]>

/**
 * Asks the system, /etc/hosts and search domains included: for names that the operator has chosen. It
 * takes a thread, so a name is asked for once at a time; whoever waits no longer leaves it to the others.
 */
export function systemResolver(lookup: Lookup = dns.lookup): Resolver {
  const asked = new Map<string, Promise<string[]>>()

  async function ask(hostname: string): Promise<string[]> {
    try {
      return (await lookup(hostname, { all: true })).map(({ address }) => address)
    } catch (error) {
      const { code = 'unknown' } = error as NodeJS.ErrnoException
      throw new DialError('name_not_resolved', WORDS[code] ?? `it cannot be looked up (${code})`)
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

/** Waits for both, so that what a name leads to does not depend on which answer was the faster. */
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
  // That there is no address of the other family explains nothing.
  const code = codes.find((each) => each !== 'ENODATA') ?? 'ENODATA'
  throw new DialError('name_not_resolved', WORDS[code] ?? `DNS could not answer (${code})`)
}
