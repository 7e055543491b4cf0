/** Codes of the second factor: time-based codes (RFC 6238), and recovery codes for users who lost their phone. */
import { createHash, randomInt } from 'node:crypto'
import { Secret, TOTP } from 'otpauth'
import { typedCode } from '../../../lib/pasted.ts'

/** The time step in seconds. The service also accepts codes of the previous and the next step (RFC 6238 §5.2). */
const PERIOD = 30
const WINDOW = 1
const SECRET_BYTES = 20
export const RECOVERY_CODES = 10
/** Letters and digits without characters that are easily confused. */
const ALPHABET = 'abcdefghjkmnpqrstuvwxyz23456789'
const RECOVERY_LENGTH = 24

export function newTotpSecret(): Buffer {
  return Buffer.from(new Secret({ size: SECRET_BYTES }).bytes)
}

/** The account as displayed in authenticator apps. One person may have accounts in several tenants. */
export interface TotpAccount {
  issuer: string
  email: string
  subdomain: string
}

function totp(secret: Uint8Array, account?: TotpAccount): TOTP {
  return new TOTP({
    ...(account && {
      // Replaces colons, because a colon separates the issuer from the label.
      issuer: account.issuer.replaceAll(':', ' '),
      label: `${account.email} (${account.subdomain})`,
    }),
    algorithm: 'SHA1',
    digits: 6,
    period: PERIOD,
    secret: new Secret({ buffer: new Uint8Array(secret).buffer }),
  })
}

/** Returns the data for an authenticator app: the secret, and a URL with the secret and the account. */
export function describeSecret(
  secret: Uint8Array,
  account: TotpAccount,
): { secret: string; url: string } {
  const generator = totp(secret, account)
  return { secret: generator.secret.base32, url: generator.toString() }
}

/** Returns the time step of a code; null if the code is wrong. @param now milliseconds since the epoch */
export function stepOf(secret: Uint8Array, code: string, now: number): number | null {
  const plain = typedCode(code)
  if (!/^\d{6}$/.test(plain)) return null
  const delta = totp(secret).validate({ token: plain, timestamp: now, window: WINDOW })
  return delta === null ? null : Math.floor(now / 1000 / PERIOD) + delta
}

/** Returns a recovery code like `abcd-efgh-jkmn-pqrs-tuvw-xyz2`: about 118 random bits (ASVS 6.5.2 requires 112). */
export function newRecoveryCode(): string {
  const characters = Array.from(
    { length: RECOVERY_LENGTH },
    () => ALPHABET[randomInt(ALPHABET.length)],
  )
  return characters.join('').replaceAll(/(.{4})(?=.)/g, '$1-')
}

/** Returns the hash of a code; ignores case, spaces and dashes. Codes are random, so a fast hash is secure enough. */
export function hashRecoveryCode(userId: number, code: string): Buffer {
  const plain = typedCode(code).toLowerCase()
  return createHash('sha256').update(`${userId}:${plain}`).digest()
}
