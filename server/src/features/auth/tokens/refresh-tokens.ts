import { createHmac, randomBytes } from 'node:crypto'
import { type OpaqueToken, toToken } from '../../../platform/crypto/index.ts'

export const newSalt = (): Buffer => randomBytes(32)

/**
 * Returns the refresh token that replaces `spent`, derived from `spent` and a random salt stored with it. The successor
 * cannot be computed from the database alone, or from a stolen old token alone. The service has both, so it can return
 * the same successor again if a response was lost.
 */
export function successorOf(spent: OpaqueToken, salt: Buffer): OpaqueToken {
  const secret = createHmac('sha256', spent.text).update(salt).digest('base64url')
  return toToken(spent.tenantId, secret)
}
