/**
 * Checks IP addresses. The service may connect only to public unicast addresses and to networks that the operator
 * lists. The IANA registries define the special networks (RFC 6890 and its updates), and ipaddr.js follows them.
 */
import { ipv4In } from './ipv4-in-ipv6.ts'
import { type Address, contains, type Network, parseAddress, parseNetworks } from './networks.ts'

/** The targets to which the service may connect. */
export interface TargetPolicy {
  allowHttp: boolean
  /** Networks that are allowed although they are not public. */
  allowedNetworks: readonly Network[]
  /** True to allow loopback addresses, even without TLS, so that users can try out the service. */
  allowLoopback?: boolean
}

/** The policy for servers that the operator configures, which may be anywhere. */
export const ANYWHERE: TargetPolicy = {
  allowHttp: true,
  allowedNetworks: parseNetworks('0.0.0.0/0, ::/0'),
}

/** Returns true for a loopback address that the policy allows. */
export const isAllowedLoopback = (text: string, { allowLoopback = false }: TargetPolicy): boolean =>
  allowLoopback && parseAddress(text)?.range() === 'loopback'

/** Checks an IP address. Returns the error message if it is forbidden, or undefined if it is allowed. */
export function checkAddress(address: string, policy: TargetPolicy): string | undefined {
  const objection = forbiddenKindOf(address, policy)
  return objection && `${address} is ${objection}, which is not allowed`
}

/** Returns the kind of a forbidden address, such as "a loopback address", or undefined for an allowed address. */
export function forbiddenKindOf(text: string, policy: TargetPolicy): string | undefined {
  // A zone (RFC 4007) selects a network interface of this machine.
  if (text.includes('%')) return 'an address with a zone'
  const address = parseAddress(text)
  return address ? forbiddenKindOfParsed(address, policy) : 'not a valid IP address'
}

function forbiddenKindOfParsed(address: Address, policy: TargetPolicy): string | undefined {
  const isListed = policy.allowedNetworks.some((network) => contains(network, address))
  const embedded = ipv4In(address)
  const isLoopback = policy.allowLoopback === true && address.range() === 'loopback'
  if (embedded.length === 0) return isListed || isLoopback ? undefined : specialKindOf(address)
  if (!isListed) return 'an IPv6 address that maps to an IPv4 address'
  // Checks the embedded address too. A listed NAT64 network must not allow private addresses: 64:ff9b::7f00:1 leads to
  // 127.0.0.1.
  const inner = embedded.map((each) => forbiddenKindOfParsed(each, policy)).find(Boolean)
  return inner && `an IPv6 address that maps to ${inner}`
}

const RESERVED = 'a reserved address'

/** Descriptions of the ranges of ipaddr.js. All other ranges are described as reserved. */
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

/** The address ranges that IANA has allocated. ipaddr.js treats unallocated IPv6 ranges as unicast too. */
const GIVEN_OUT = parseNetworks('0.0.0.0/0, 2000::/3')

/** The metadata address of Azure, which is a public address. Other clouds use addresses in special networks. */
const METADATA = parseNetworks('168.63.129.16')

/** Returns the kind of a special address, or undefined for an ordinary public address. */
function specialKindOf(address: Address): string | undefined {
  const isIn = (networks: Network[]) => networks.some((network) => contains(network, address))
  if (isIn(METADATA)) return 'a cloud metadata address'
  const range = address.range()
  if (range !== 'unicast') return KINDS[range] ?? RESERVED
  return isIn(GIVEN_OUT) ? undefined : RESERVED
}
