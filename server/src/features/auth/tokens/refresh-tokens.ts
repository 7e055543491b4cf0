import { createHmac, randomBytes } from 'node:crypto'
import { type OpaqueToken, toToken } from './opaque-tokens.ts'

export const newSalt = (): Buffer => randomBytes(32)

/**
 * Returns the refresh token that replaces `spent`, derived from `spent` and a stored random salt. Neither the database
 * alone nor a stolen token alone suffices. The service can return the successor again after a lost response.
 */
export function successorOf(spent: OpaqueToken, salt: Buffer): OpaqueToken {
  const secret = createHmac('sha256', spent.text).update(salt).digest('base64url')
  return toToken(spent.tenantId, secret)
}
