/** How one refresh token follows another. */
import { createHmac, randomBytes } from 'node:crypto'
import { type OpaqueToken, toToken } from './opaque-tokens.ts'

export const newSalt = (): Buffer => randomBytes(32)

/**
 * The one token that follows `spent`. Made of the spent token, as the key, and a random salt that is stored with
 * it: neither the database nor a stolen old token alone can make it, and both together make it again
 * when the answer that carried it was lost.
 */
export function successorOf(spent: OpaqueToken, salt: Buffer): OpaqueToken {
  const secret = createHmac('sha256', spent.text).update(salt).digest('base64url')
  return toToken(spent.tenantId, secret)
}
