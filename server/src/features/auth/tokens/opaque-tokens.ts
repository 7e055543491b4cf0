/**
 * Tokens that mean nothing but themselves: `<tenant>.<32 random bytes>`, kept only as a hash. The
 * tenant in front lets them be looked up inside their tenant; it proves nothing.
 */
import { hash, randomBytes } from 'node:crypto'

const TOKEN = /^([1-9]\d{0,15})\.([\w-]{43})$/

export interface OpaqueToken {
  text: string
  tenantId: number
  hash: Buffer
}

/** Reads a token that a client shows; undefined when it cannot be one. */
export function parseToken(text: string): OpaqueToken | undefined {
  const [, tenant, secret] = TOKEN.exec(text) ?? []
  if (!tenant || !secret || !Number.isSafeInteger(Number(tenant))) return undefined
  return toToken(Number(tenant), secret)
}

export function newToken(tenantId: number): OpaqueToken {
  return toToken(tenantId, randomBytes(32).toString('base64url'))
}

/** @param secret 43 characters of base64url: 256 bits */
export function toToken(tenantId: number, secret: string): OpaqueToken {
  const text = `${tenantId}.${secret}`
  return { text, tenantId, hash: hash('sha256', text, 'buffer') }
}
