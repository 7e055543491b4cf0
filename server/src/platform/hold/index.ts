/** Pauses outgoing messages on a restored copy. */
export { type OutboundHold, openOutboundHold } from './hold.ts'
