/** Codes of the second factor: time steps (RFC 6238), and recovery codes for the day the phone is gone. */
import { createHash, randomInt } from 'node:crypto'
import { Secret, TOTP } from 'otpauth'
import { typedCode } from '../../../lib/typed-code.ts'

/** Seconds that one code is good for; one step before and after is taken too (RFC 6238 §5.2). */
const PERIOD = 30
const WINDOW = 1
const SECRET_BYTES = 20
export const RECOVERY_CODES = 10
/** Without the characters that are read wrong. */
const ALPHABET = 'abcdefghjkmnpqrstuvwxyz23456789'
const RECOVERY_LENGTH = 24

export function newSecret(): Buffer {
  return Buffer.from(new Secret({ size: SECRET_BYTES }).bytes)
}

/** The account as authenticator apps show it. One person may have accounts in several tenants. */
export interface TotpAccount {
  /** The tenant's name. */
  issuer: string
  email: string
  subdomain: string
}

function totp(secret: Uint8Array, account?: TotpAccount): TOTP {
  return new TOTP({
    ...(account && {
      // A colon separates the issuer from the label.
      issuer: account.issuer.replaceAll(':', ' '),
      label: `${account.email} (${account.subdomain})`,
    }),
    algorithm: 'SHA1',
    digits: 6,
    period: PERIOD,
    secret: new Secret({ buffer: new Uint8Array(secret).buffer }),
  })
}

/** What an authenticator app needs: the secret as text, and all of it as a URL. */
export function describeSecret(
  secret: Uint8Array,
  account: TotpAccount,
): { secret: string; url: string } {
  const generator = totp(secret, account)
  return { secret: generator.secret.base32, url: generator.toString() }
}

/** The time step that a code belongs to; null when it is wrong. @param now milliseconds */
export function stepOf(secret: Uint8Array, code: string, now: number): number | null {
  const plain = typedCode(code)
  if (!/^\d{6}$/.test(plain)) return null
  const delta = totp(secret).validate({ token: plain, timestamp: now, window: WINDOW })
  return delta === null ? null : Math.floor(now / 1000 / PERIOD) + delta
}

/** A code for paper: `abcd-efgh-jkmn-pqrs-tuvw-xyz2`, some 118 bits (ASVS 6.5.2 asks for 112). */
export function newRecoveryCode(): string {
  const characters = Array.from(
    { length: RECOVERY_LENGTH },
    () => ALPHABET[randomInt(ALPHABET.length)],
  )
  return characters.join('').replaceAll(/(.{4})(?=.)/g, '$1-')
}

/** Hash of a recovery code, however it is typed. They are random, so a plain hash will do. */
export function hashRecoveryCode(userId: number, code: string): Buffer {
  const plain = typedCode(code).toLowerCase()
  return createHash('sha256').update(`${userId}:${plain}`).digest()
}
