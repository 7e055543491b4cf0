/** Which address a request comes from: in one spelling, so that one caller is one network everywhere. */
import { isIP } from 'node:net'
import type { FastifyRequest } from 'fastify'
import { unmapped } from '../net/index.ts'

/** Some proxies write the port of the connection behind the address: `203.0.113.7:51344`, `[2001:db8::1]:443`. */
const BRACKETS_OR_PORT = /^(?:\[(.*)\](?::\d+)?|([\d.]+):\d+)$/

/** The address that is written, without a port and plain where it is IPv4; undefined where there is none. */
export function writtenAddress(text = ''): string | undefined {
  const address = isIP(text) ? text : text.replace(BRACKETS_OR_PORT, '$1$2')
  return isIP(address) ? unmapped(address) : undefined
}

/**
 * The address that the outermost trusted proxy saw; where it wrote none, that of the connection. Empty where
 * the connection was gone before anybody asked.
 */
export function addressOf({ ip, socket }: FastifyRequest): string {
  return writtenAddress(ip) ?? unmapped(socket.remoteAddress ?? '')
}
