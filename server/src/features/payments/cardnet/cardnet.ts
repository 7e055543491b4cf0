/** cardnet: signs its notices, so that what is proven is applied as it came (decisions §6). */
import type { Clock } from '../../../lib/clock.ts'
import { Problem } from '../../../lib/problems.ts'
import type { PaymentProvider } from '../provider.ts'
import { noticeIn, readingOf } from './body.ts'
import { isSigned } from './signature.ts'

/** @param secrets `CARDNET_WEBHOOK_SECRET`, several while one takes the other's place */
export function cardnet(secrets: readonly string[], clock: Clock): PaymentProvider {
  const isConfigured = secrets.length > 0
  return {
    isConfigured,
    /** The signature first, over the bytes as they are. */
    judge(body, [signature = null, ...more]) {
      const header = more.length === 0 ? signature : null
      if (isConfigured && (header === null || !isSigned(header, body, secrets, clock.now())))
        throw new Problem('invalid_signature')
      return {
        notice: noticeIn(body),
        sent: { body, signature: header },
        standing: isConfigured ? 'verified' : 'unverified',
      }
    },
    /** By the time at which it came: so what came before the secret was set can still be proven. */
    prove({ sent: { body, signature }, received_at, verified_at }) {
      if (verified_at !== null) return { verified_at }
      if (!isConfigured) return { refused: 'not_configured' }
      const at = Date.parse(received_at)
      if (signature === null || !isSigned(signature, body, secrets, at))
        return { refused: 'invalid_signature' }
      return { verified_at: received_at }
    },
    // What was proven when it came needs no secret any more.
    readHere: ({ body }) => readingOf(body),
    read: null,
    atOnce: 0,
  }
}
