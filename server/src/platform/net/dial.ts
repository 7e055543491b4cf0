/**
 * Makes connections, and only to addresses that were judged: the name is resolved once, every address
 * of it has to be allowed, and the socket gets these addresses in place of the name. So a DNS server
 * that changes its mind between check and use (rebinding) changes nothing.
 */
import { isIP, type LookupFunction, type Socket, connect as startTcp } from 'node:net'
import { createSecureContext, getCACertificates, connect as startTls } from 'node:tls'
import { checkAddress, forbiddenKindOf, type TargetPolicy } from './addresses.ts'
import { type ExchangeContext, unlessAborted } from './context.ts'
import { connectError, DialError, tlsError } from './dial-error.ts'
import { unmapped } from './networks.ts'
import type { Resolver } from './resolver.ts'
import { literalAddresses } from './targets.ts'

/** A name may have any number of addresses; so many of each family are judged, and may be dialled. */
const MAX_ADDRESSES = 16

/** How long one of several addresses is tried. Node's 250 ms are too short for a host far away. */
const TRY_MS = 2000

export interface DialOptions {
  policy: TargetPolicy
  resolver: Resolver
  /** A certificate authority that is trusted besides those of the system, as PEM. */
  ca?: string | undefined
}

/**
 * Connects to the host of a URL that was judged, with TLS where the URL is https.
 * @throws DialError, also the one that the exchange was stopped with
 */
export type Dial = (url: URL, context: ExchangeContext) => Promise<Socket>

export function dialler({ policy, resolver, ca }: DialOptions): Dial {
  const tls = tlsOptions(ca)
  return async (url, context) => {
    context.signal.throwIfAborted()
    const addresses =
      literalAddresses(url.hostname) ?? (await resolve(resolver, url.hostname, context))
    const objection = addresses.map((each) => forbiddenKindOf(each, policy)).find(Boolean)
    // Without the address: where names lead to inside is not to be learned from outside.
    if (objection)
      throw new DialError(
        'address_forbidden',
        `the name leads to ${objection}, which is not allowed`,
      )
    context.address = addresses.length === 1 ? (addresses[0] ?? null) : null
    context.missing = 'no connection'
    const target = targetOf(url, addresses)
    const isTls = url.protocol === 'https:'
    const socket = isTls ? startTls({ ...target, ...tls(target.host) }) : startTcp(target)
    return connected(socket, isTls, policy, context)
  }
}

async function resolve(
  resolver: Resolver,
  hostname: string,
  context: ExchangeContext,
): Promise<string[]> {
  context.missing = 'no answer from DNS'
  const answer = resolver(hostname, context.signal).catch((error: Error) => {
    throw new DialError('name_not_resolved', error.message)
  })
  const found = await unlessAborted(answer, context.signal)
  if (found.length === 0) throw new DialError('name_not_resolved', 'the name has no address')
  const isIPv6 = (address: string) => address.includes(':')
  // IPv4 first: where a host has no IPv6 that works, nothing waits for it.
  const first = found.filter((address) => !isIPv6(address)).slice(0, MAX_ADDRESSES)
  return [...first, ...found.filter(isIPv6).slice(0, MAX_ADDRESSES)]
}

function targetOf(url: URL, addresses: readonly string[]) {
  const entries = addresses.map((address) => ({ address, family: isIP(address) }))
  // Asked in place of DNS. For a host that is an address Node asks nobody and dials what it reads.
  const lookup: LookupFunction = (_hostname, _options, answer) => answer(null, entries)
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: Number(url.port || (url.protocol === 'https:' ? 443 : 80)),
    lookup,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: TRY_MS,
    noDelay: true,
  }
}

function tlsOptions(ca: string | undefined) {
  let secureContext: ReturnType<typeof createSecureContext> | undefined
  return (host: string) => {
    // One for all: making it costs as much as a handshake.
    secureContext ??= createSecureContext({
      minVersion: 'TLSv1.2',
      ...(ca ? { ca: [...getCACertificates('default'), ca] } : {}),
    })
    return {
      secureContext,
      // RFC 6066, 3: an address is no server name. The certificate is compared with the host all the same.
      servername: isIP(host) ? '' : host,
      // Said here, it holds whatever NODE_TLS_REJECT_UNAUTHORIZED says.
      rejectUnauthorized: true,
      ALPNProtocols: ['http/1.1'],
    }
  }
}

function connected(socket: Socket, isTls: boolean, policy: TargetPolicy, context: ExchangeContext) {
  return new Promise<Socket>((resolve, reject) => {
    let isReached = false
    const fail = (fault: unknown) => {
      socket.destroy()
      reject(fault)
    }
    const stop = () => fail(context.signal.reason)
    context.signal.addEventListener('abort', stop, { once: true })
    // Before the listener that starts the TLS handshake: nothing is said to a forbidden address.
    socket.prependOnceListener('connect', () => {
      const address = unmapped(socket.remoteAddress ?? '')
      // It was judged before; this is for the day when someone gives the socket another way to it.
      if (checkAddress(address, policy) !== undefined)
        return fail(new DialError('address_forbidden', 'the connection leads somewhere else'))
      isReached = true
      context.address = address
      context.missing = isTls ? 'no TLS handshake' : 'no answer'
    })
    socket.once(isTls ? 'secureConnect' : 'connect', () => {
      context.signal.removeEventListener('abort', stop)
      resolve(socket)
    })
    // Stays: between here and the next owner of the socket an error must not be unheard of.
    socket.on('error', (error) => fail(isReached && isTls ? tlsError(error) : connectError(error)))
  })
}
