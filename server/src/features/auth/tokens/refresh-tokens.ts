/**
 * Refresh tokens: `<tenant>.<32 random bytes>`, kept only as a hash. The tenant in front lets them
 * be looked up inside their tenant; it proves nothing.
 */
import { createHash, createHmac, randomBytes } from 'node:crypto'

const TOKEN = /^([1-9]\d{0,15})\.([\w-]{43})$/

export interface RefreshToken {
  text: string
  tenantId: number
  hash: Buffer
}

/** Reads a token that a client shows; undefined when it cannot be one. */
export function parseRefreshToken(text: string): RefreshToken | undefined {
  const [, tenant, secret] = TOKEN.exec(text) ?? []
  if (!tenant || !secret || !Number.isSafeInteger(Number(tenant))) return undefined
  return make(Number(tenant), secret)
}

export function newRefreshToken(tenantId: number): RefreshToken {
  return make(tenantId, randomBytes(32).toString('base64url'))
}

export const newSalt = (): Buffer => randomBytes(32)

/**
 * The one token that follows `spent`. Made of the spent token and a random salt that is stored with
 * it: neither the database nor a stolen old token alone can make it, and both together make it again
 * when the answer that carried it was lost.
 */
export function successorOf(spent: RefreshToken, salt: Buffer): RefreshToken {
  const secret = createHmac('sha256', salt).update(spent.text).digest('base64url')
  return make(spent.tenantId, secret)
}

function make(tenantId: number, secret: string): RefreshToken {
  const text = `${tenantId}.${secret}`
  return { text, tenantId, hash: createHash('sha256').update(text).digest() }
}
