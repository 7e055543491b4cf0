/**
 * Connects only to checked addresses. Resolves each host name once and requires that all its addresses are allowed. The
 * socket then gets these addresses instead of the name. DNS rebinding between the check and the connection therefore
 * has no effect.
 */
import { isIP, type LookupFunction, type Socket, connect as startTcp } from 'node:net'
import { createSecureContext, getCACertificates, connect as startTls } from 'node:tls'
import { checkAddress, forbiddenKindOf, type TargetPolicy } from './addresses.ts'
import { type ExchangeContext, unlessAborted } from './context.ts'
import { connectError, DialError, tlsError } from './dial-error.ts'
import { unmapped } from './networks.ts'
import type { Resolver } from './resolver.ts'
import { literalAddresses } from './targets.ts'

/** Maximum number of addresses to use per family. A name may have any number of addresses. */
const MAX_ADDRESSES = 16

/**
 * How long to try one address before the next one, in milliseconds. Node's default of 250 ms is too short for a distant
 * host.
 */
const TRY_MS = 2000

export interface DialOptions {
  policy: TargetPolicy
  resolver: Resolver
  /** A certificate authority (PEM) to trust in addition to those of the system. */
  ca?: string | undefined
  /** The authorities and the client certificate for one server that the operator has configured. */
  identity?: TlsIdentity | undefined
  /** The application protocol to negotiate (RFC 7301). The default is HTTP/1.1, and null negotiates none. */
  protocol?: 'http/1.1' | null
}

/** TLS settings for one server, all in PEM. */
export interface TlsIdentity {
  /** The only certificate authorities to trust. By default those of the system are trusted. */
  ca?: string | undefined
  /** The certificate with which this service authenticates itself, and its private key. */
  cert?: string | undefined
  key?: string | undefined
}

/**
 * Connects to the host of a checked URL, with TLS if the URL is https.
 * @throws DialError for any failure, including an abort of the exchange
 */
export type Dial = (url: URL, context: ExchangeContext) => Promise<Socket>

export function dialler(options: DialOptions): Dial {
  const { policy, resolver } = options
  const tls = tlsOptions(options)
  return async (url, context) => {
    context.signal.throwIfAborted()
    const addresses =
      literalAddresses(url.hostname) ?? (await resolve(resolver, url.hostname, context))
    const objection = addresses.map((each) => forbiddenKindOf(each, policy)).find(Boolean)
    // Omits the address, so that callers cannot find out to which internal addresses a name resolves.
    if (objection)
      throw new DialError(
        'address_forbidden',
        `the host name resolves to ${objection}, which is not allowed`,
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
  context.missing = 'no response from DNS'
  const answer = resolver(hostname, context.signal).catch((error: Error) => {
    throw new DialError('name_not_resolved', error.message)
  })
  const found = await unlessAborted(answer, context.signal)
  if (found.length === 0) throw new DialError('name_not_resolved', 'the host name has no address')
  const isIPv6 = (address: string) => address.includes(':')
  // Tries IPv4 first, so that a host with broken IPv6 causes no delay.
  const first = found.filter((address) => !isIPv6(address)).slice(0, MAX_ADDRESSES)
  return [...first, ...found.filter(isIPv6).slice(0, MAX_ADDRESSES)]
}

function targetOf(url: URL, addresses: readonly string[]) {
  const entries = addresses.map((address) => ({ address, family: isIP(address) }))
  // Returns the checked addresses instead of querying DNS. For a literal address, Node skips the lookup and connects to
  // the address that it has parsed.
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

function tlsOptions({ ca, identity, protocol = 'http/1.1' }: DialOptions) {
  let secureContext: ReturnType<typeof createSecureContext> | undefined
  return (host: string) => {
    // All connections share the context, because creating a context costs as much as a handshake.
    secureContext ??= createSecureContext({
      minVersion: 'TLSv1.2',
      ...(ca ? { ca: [...getCACertificates('default'), ca] } : {}),
      ...identity,
    })
    return {
      secureContext,
      // Sends no server name for an address, because an address is not a valid server name (RFC 6066, 3). The
      // certificate is still checked against the host.
      servername: isIP(host) ? '' : host,
      // Sets this explicitly, so that NODE_TLS_REJECT_UNAUTHORIZED cannot disable the check.
      rejectUnauthorized: true,
      ...(protocol ? { ALPNProtocols: [protocol] } : {}),
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
    // Runs before the listener that starts the TLS handshake, so that a forbidden address receives no data.
    socket.prependOnceListener('connect', () => {
      const address = unmapped(socket.remoteAddress ?? '')
      // Checks the address again, although it was already checked. Future code might connect in another way.
      if (checkAddress(address, policy) !== undefined)
        return fail(
          new DialError(
            'address_forbidden',
            'the connection leads to a different address than the checked one',
          ),
        )
      isReached = true
      context.address = address
      context.missing = isTls ? 'no TLS handshake' : 'no response'
    })
    socket.once(isTls ? 'secureConnect' : 'connect', () => {
      context.signal.removeEventListener('abort', stop)
      resolve(socket)
    })
    // Never removes this listener, because an error may occur before the next owner of the socket adds a listener.
    socket.on('error', (error) => fail(isReached && isTls ? tlsError(error) : connectError(error)))
  })
}
