/**
 * Opaque tokens of the form `<tenant>.<32 random bytes>`, stored only as a hash. The tenant id selects the tenant in
 * which the token is looked up. The id does not prove that the token belongs to that tenant.
 */
import { hash, randomBytes } from 'node:crypto'

const TOKEN = /^([1-9]\d{0,15})\.([\w-]{43})$/

export interface OpaqueToken {
  text: string
  tenantId: number
  hash: Buffer
}

/** Parses a token from a client. Returns undefined if the text does not have the format of a token. */
export function parseToken(text: string): OpaqueToken | undefined {
  const [, tenant, secret] = TOKEN.exec(text) ?? []
  if (!tenant || !secret || !Number.isSafeInteger(Number(tenant))) return undefined
  return toToken(Number(tenant), secret)
}

export function newToken(tenantId: number): OpaqueToken {
  return toToken(tenantId, randomBytes(32).toString('base64url'))
}

/** Builds a token. @param secret 43 characters of base64url: 256 bits */
export function toToken(tenantId: number, secret: string): OpaqueToken {
  const text = `${tenantId}.${secret}`
  return { text, tenantId, hash: hash('sha256', text, 'buffer') }
}
