/** The cardnet provider. A notice with a valid signature is applied as received (decisions §6). */
import type { Clock } from '../../../lib/clock.ts'
import { Problem } from '../../../lib/problems.ts'
import type { PaymentProvider } from '../provider.ts'
import { cardnetNoticeIn, cardnetReadingOf } from './body.ts'
import { isSigned } from './signature.ts'

/** Creates the provider. @param secrets `CARDNET_WEBHOOK_SECRET`, with several secrets during a rotation */
export function cardnet(secrets: readonly string[], clock: Clock): PaymentProvider {
  const isConfigured = secrets.length > 0
  return {
    isConfigured,
    /** Verifies the signature over the raw bytes of the body before parsing it. */
    judge(body, [signature = null, ...more]) {
      const header = more.length === 0 ? signature : null
      if (isConfigured && (header === null || !isSigned(header, body, secrets, clock.now())))
        throw new Problem('invalid_signature')
      return {
        notice: cardnetNoticeIn(body),
        sent: { body, signature: header },
        state: isConfigured ? 'verified' : 'unverified',
      }
    },
    /** Verifies the signature as of the arrival, which may have been before the provider was configured. */
    verify({ sent: { body, signature }, received_at, verified_at }) {
      if (verified_at !== null) return { verified_at }
      if (!isConfigured) return { refused: 'not_configured' }
      const at = Date.parse(received_at)
      if (signature === null || !isSigned(signature, body, secrets, at))
        return { refused: 'invalid_signature' }
      return { verified_at: received_at }
    },
    // Reads a notice that was verified on arrival. This does not need the secret.
    readHere: ({ body }) => cardnetReadingOf(body),
    read: null,
    atOnce: 0,
  }
}
