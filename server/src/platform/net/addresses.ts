/**
 * Judges IP addresses: only plain public unicast may be dialled, and what the operator lists. What is
 * special stands in the IANA registries (RFC 6890 and its updates), which ipaddr.js follows.
 */
import { ipv4In } from './ipv4-in-ipv6.ts'
import { type Address, contains, type Network, parseAddress, parseNetworks } from './networks.ts'

/** Which targets may be dialled. */
export interface TargetPolicy {
  allowHttp: boolean
  /** Networks that may be dialled although they are not public. */
  allowedNetworks: readonly Network[]
  /** True to allow this machine, also without TLS: for trying the service out. */
  allowLoopback?: boolean
}

/** Returns true for a loopback address that the policy allows. */
export const isAllowedLoopback = (text: string, { allowLoopback = false }: TargetPolicy): boolean =>
  allowLoopback && parseAddress(text)?.range() === 'loopback'

/** Judges one IP address. Returns undefined when it may be dialled, else a sentence that says why not. */
export function checkAddress(address: string, policy: TargetPolicy): string | undefined {
  const objection = forbiddenKindOf(address, policy)
  return objection && `${address} is ${objection}, which is not allowed`
}

/** What the address is that must not be dialled, as "a loopback address"; undefined when it may. */
export function forbiddenKindOf(text: string, policy: TargetPolicy): string | undefined {
  // A zone (RFC 4007) names a network card of this machine.
  if (text.includes('%')) return 'an address with a zone'
  const address = parseAddress(text)
  return address ? forbiddenKindOfParsed(address, policy) : 'no IP address'
}

function forbiddenKindOfParsed(address: Address, policy: TargetPolicy): string | undefined {
  const isListed = policy.allowedNetworks.some((network) => contains(network, address))
  const embedded = ipv4In(address)
  const isLoopback = policy.allowLoopback === true && address.range() === 'loopback'
  if (embedded.length === 0) return isListed || isLoopback ? undefined : specialKindOf(address)
  if (!isListed) return 'an address that stands for an IPv4 address'
  // A listed NAT64 network must not open what is behind it: 64:ff9b::7f00:1 is a 127.0.0.1.
  const inner = embedded.map((each) => forbiddenKindOfParsed(each, policy)).find(Boolean)
  return inner && `an address that stands for ${inner}`
}

const RESERVED = 'a reserved address'

/** By the names of ipaddr.js; what has another name there is reserved. */
const KINDS: Record<string, string> = {
  broadcast: 'a broadcast address',
  carrierGradeNat: 'a carrier-grade NAT address',
  linkLocal: 'a link-local address',
  loopback: 'a loopback address',
  multicast: 'a multicast address',
  private: 'a private address',
  uniqueLocal: 'a private address',
  unspecified: 'an unspecified address',
}

/** All that IANA gives to networks; ipaddr.js takes also the rest of IPv6 for unicast. */
const GIVEN_OUT = parseNetworks('0.0.0.0/0, 2000::/3')

/** Azure answers its machines here; the other clouds do it in networks that are special anyway. */
const METADATA = parseNetworks('168.63.129.16')

/** What makes the address no plain public one; undefined when it is one. */
function specialKindOf(address: Address): string | undefined {
  const isIn = (networks: Network[]) => networks.some((network) => contains(network, address))
  if (isIn(METADATA)) return 'a cloud metadata address'
  const range = address.range()
  if (range !== 'unicast') return KINDS[range] ?? RESERVED
  return isIn(GIVEN_OUT) ? undefined : RESERVED
}
