/** Generates, parses and hashes the codes that link a chat to an account. */
import { createHmac, randomInt } from 'node:crypto'
import { MINUTE } from '../../../lib/clock.ts'
import { typedCode } from '../../../lib/pasted.ts'

/** The digits and capital letters, except those that look or sound alike: 0, O, 1, I and L. */
export const ALPHABET = '23456789ABCDEFGHJKMNPQRSTUVWXYZ'
export const CODE_LENGTH = 8
/** How long a code is valid, in milliseconds. */
export const CODE_LIFE = 10 * MINUTE
/** The maximum number of characters of a typed code, including separators. */
export const MAX_TYPED = 64

/** Returns a random code, one of about 850 billion equally likely codes. */
export function newCode(random: (below: number) => number = randomInt): string {
  return Array.from({ length: CODE_LENGTH }, () => ALPHABET[random(ALPHABET.length)]).join('')
}

/** Returns the code as shown to people: two groups of four characters. */
export const showCode = (code: string): string => `${code.slice(0, 4)}-${code.slice(4)}`

/** Returns a typed code without case, spaces and hyphens. Returns undefined for text that cannot be a code. */
export function readCode(typed: string): string | undefined {
  const code = typedCode(typed).toUpperCase()
  const isCode = code.length === CODE_LENGTH && [...code].every((one) => ALPHABET.includes(one))
  return isCode ? code : undefined
}

/** Computes a keyed digest. Without a key, chat ids and codes could be found by trying all of them. */
export type Digest = (text: string) => Buffer

/** Creates a digest function. `key` must be derived from the service's key only for this purpose. */
export function digestWith(key: Uint8Array): Digest {
  return (text) => createHmac('sha256', key).update(text).digest()
}
