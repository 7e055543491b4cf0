/** Whether what goes out by itself waits. */
export { type OutboundHold, openOutboundHold } from './hold.ts'
