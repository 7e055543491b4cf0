import { readFile } from 'node:fs/promises'
import { StartupError } from '../../lib/startup-error.ts'
import { fingerprintOf, orUnreadable, UnreadableError } from './seal.ts'

const KEY_BYTES = 32

export interface ConfiguredKey {
  readonly key: Uint8Array
  readonly from: string
}

/** A source of root keys, such as environment variables or the data folder. */
export interface RootKeySource {
  /** Returns all configured keys. A database without a root key uses the first one. */
  given(): Promise<ConfiguredKey[]>
  /** Creates a key for a database that contains no encrypted data yet. */
  make(): Promise<ConfiguredKey>
  /** Informs the source which key decrypts the database. A source that stores keys makes this key its current key. */
  settle(fingerprint: string): Promise<void>
}

/** Returns a source that contains only these keys and cannot create one. */
export const givenOnly = (...keys: ConfiguredKey[]): RootKeySource => ({
  given: async () => keys,
  make: async () => Promise.reject(new Error('no root key is configured')),
  settle: async () => undefined,
})

/** Parses 32 bytes written as 64 hex digits or in base64. Returns undefined for any other text. */
export function parseKey(text: string): Buffer | undefined {
  const trimmed = text.trim()
  if (/^[0-9a-f]{64}$/i.test(trimmed)) return Buffer.from(trimmed, 'hex')
  if (!/^[\w+/-]{43}=?$/.test(trimmed)) return undefined
  const bytes = Buffer.from(trimmed, 'base64')
  return bytes.length === KEY_BYTES ? bytes : undefined
}

/** Creates the startup error for a database whose root key is not configured. */
export const otherRootKey = (needed: string | undefined, given: readonly ConfiguredKey[]) => {
  const names = given.map(({ key, from }) => `${fingerprintOf(key)} (${from})`)
  return new StartupError(
    `ENCRYPTION_KEY: the database is encrypted with another root key. ${needed ? `It requires ${needed}` : 'No configured key decrypts it'}. Configured: ${names.join(', ') || 'none'}.`,
  )
}

/** Decrypts a value that startup needs. @throws StartupError if it cannot be decrypted */
export function mustOpen<T>(open: () => T): T {
  const opened = orUnreadable(open)
  if (opened instanceof UnreadableError) throw new StartupError(`${opened.message}.`)
  return opened
}

/** Reads a root key. @param variable for the error message @throws StartupError if the file contains no readable key */
export async function readKeyFile(file: string, variable = 'ENCRYPTION_KEY_FILE'): Promise<Buffer> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (error) {
    throw new StartupError(`${variable}: ${file} cannot be read (${(error as Error).message}).`)
  }
  const key = parseKey(text)
  if (!key)
    throw new StartupError(`${variable}: ${file} does not contain 32 bytes in base64 or hex.`)
  return key
}
