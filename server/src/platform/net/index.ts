/** HTTP to the outside, for the features: judged targets, one deadline, typed failures. */
export { judgeAddress, type TargetPolicy } from './addresses.ts'
export { DIAL_FAILURES } from './faults.ts'
export { isWithin, type Network, parseNetworks } from './networks.ts'
export { type Exchange, type Outbound, openOutbound, type Post } from './outbound.ts'
export { dnsResolver, type Resolver } from './resolver.ts'
export { judgeUrl } from './targets.ts'
