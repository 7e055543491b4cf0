/** Codes that link a chat: how they are made, read as people type them, and kept. */
import { createHmac, randomInt } from 'node:crypto'
import { MINUTE } from '../../../lib/clock.ts'
import { typedCode } from '../../../lib/typed-code.ts'

/** Digits and capitals without those that look or sound like another: 0, O, 1, I and L. */
export const ALPHABET = '23456789ABCDEFGHJKMNPQRSTUVWXYZ'
export const CODE_LENGTH = 8
/** For how long a code can be used, in milliseconds. */
export const CODE_LIFE = 10 * MINUTE
/** More than anybody types around eight characters. */
export const MAX_TYPED = 64

/** Returns a new code: one of about 850,000 million, each as likely as any other. */
export function newCode(random: (below: number) => number = randomInt): string {
  return Array.from({ length: CODE_LENGTH }, () => ALPHABET[random(ALPHABET.length)]).join('')
}

/** Returns the code as it is shown: two groups of four. */
export const showCode = (code: string): string => `${code.slice(0, 4)}-${code.slice(4)}`

/**
 * Returns the code that was typed, in whatever case and with spaces or hyphens of any kind; undefined
 * for what cannot be one.
 */
export function readCode(typed: string): string | undefined {
  const code = typedCode(typed).toUpperCase()
  const isCode = code.length === CODE_LENGTH && [...code].every((one) => ALPHABET.includes(one))
  return isCode ? code : undefined
}

/** A digest under a key of its own: a chat's number and a code are few enough to try all of them. */
export type Digest = (text: string) => Buffer

/** @param key derived from the service key, for this purpose alone */
export function digestWith(key: Uint8Array): Digest {
  return (text) => createHmac('sha256', key).update(text).digest()
}
