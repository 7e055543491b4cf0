/** Codes of the second factor: time steps (RFC 6238), and recovery codes for the day the phone is gone. */
import { createHash, randomInt } from 'node:crypto'
import { Secret, TOTP } from 'otpauth'

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

function totp(secret: Uint8Array, account: string): TOTP {
  return new TOTP({
    issuer: 'Wardkeep',
    label: account,
    algorithm: 'SHA1',
    digits: 6,
    period: PERIOD,
    secret: new Secret({ buffer: new Uint8Array(secret).buffer }),
  })
}

/** What an authenticator app needs: the secret as text, and all of it as a URL. */
export function describeSecret(
  secret: Uint8Array,
  account: string,
): { secret: string; url: string } {
  const generator = totp(secret, account)
  return { secret: generator.secret.base32, url: generator.toString() }
}

/** The time step that a code belongs to; null when it is wrong. @param now milliseconds */
export function stepOf(secret: Uint8Array, code: string, now: number): number | null {
  const plain = code.replaceAll(/\s/g, '')
  if (!/^\d{6}$/.test(plain)) return null
  const delta = totp(secret, '').validate({ token: plain, timestamp: now, window: WINDOW })
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
  const plain = code.toLowerCase().replaceAll(/[\s-]/g, '')
  return createHash('sha256').update(`${userId}:${plain}`).digest()
}
