/** Normalizes the address of a request, so that every notation of an address counts as the same network. */
import { isIP } from 'node:net'
import type { FastifyRequest } from 'fastify'
import { unmapped } from '../net/index.ts'

/** Matches addresses to which a proxy appended the connection's port: `203.0.113.7:51344`, `[2001:db8::1]:443`. */
const BRACKETS_OR_PORT = /^(?:\[(.*)\](?::\d+)?|([\d.]+):\d+)$/

/** Returns the address without a port, and IPv4-mapped IPv6 as IPv4, or undefined without a valid one. */
export function writtenAddress(text = ''): string | undefined {
  const address = isIP(text) ? text : text.replace(BRACKETS_OR_PORT, '$1$2')
  return isIP(address) ? unmapped(address) : undefined
}

/** Returns the outermost trusted proxy's valid address, else the connection's, or an empty string if it was closed. */
export function addressOf({ ip, socket }: FastifyRequest): string {
  return writtenAddress(ip) ?? unmapped(socket.remoteAddress ?? '')
}
