/** Root keys: how they are written, and which of those that are given fits a database. */
import { readFile } from 'node:fs/promises'
import { StartupError } from '../../lib/startup-error.ts'
import { fingerprintOf, UnreadableError } from './seal.ts'

const KEY_BYTES = 32

/** A root key that there is. */
export interface GivenKey {
  readonly key: Uint8Array
  /** The variable or file that it is from. */
  readonly from: string
}

/** Where root keys come from. */
export interface RootKeySource {
  /** All that there are: for a database that names none yet, the first. */
  given(): Promise<GivenKey[]>
  /** Makes one for a database in which nothing is sealed yet. */
  make(): Promise<GivenKey>
  /** Told which one opens the database. */
  settle(fingerprint: string): Promise<void>
}

/** These and no others. */
export const givenOnly = (...keys: GivenKey[]): RootKeySource => ({
  given: async () => keys,
  make: async () => Promise.reject(new Error('no root key is given')),
  settle: async () => undefined,
})

/** 32 bytes written as 64 hex digits or as base64; undefined when it is neither. */
export function parseKey(text: string): Buffer | undefined {
  const trimmed = text.trim()
  if (/^[0-9a-f]{64}$/i.test(trimmed)) return Buffer.from(trimmed, 'hex')
  if (!/^[\w+/-]{43}=?$/.test(trimmed)) return undefined
  const bytes = Buffer.from(trimmed, 'base64')
  return bytes.length === KEY_BYTES ? bytes : undefined
}

/** What stops the start where something sealed does not open. */
export const otherRootKey = (needed: string | undefined, given: readonly GivenKey[]) => {
  const names = given.map(({ key, from }) => `${fingerprintOf(key)} (${from})`)
  return new StartupError(
    `ENCRYPTION_KEY: the database was sealed with another root key: ${needed ? `it needs ${needed}` : 'none that is given opens it'}, and was given ${names.join(', ') || 'none'}.`,
  )
}

/** Opens what nothing goes without. @throws StartupError where it does not open */
export function mustOpen<T>(open: () => T): T {
  try {
    return open()
  } catch (error) {
    if (error instanceof UnreadableError) throw new StartupError(`${error.message}.`)
    throw error
  }
}

/** Reads the key in the file that the variable names. @throws StartupError when there is none or it is not a key */
export async function readKeyFile(file: string, variable = 'ENCRYPTION_KEY_FILE'): Promise<Buffer> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (error) {
    throw new StartupError(`${variable}: ${file} cannot be read (${(error as Error).message}).`)
  }
  const key = parseKey(text)
  if (!key) throw new StartupError(`${variable}: ${file} does not hold 32 bytes in base64 or hex.`)
  return key
}
