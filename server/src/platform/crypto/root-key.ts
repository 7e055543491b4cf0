/** Where the root key comes from: the configuration, or a file of its own beside the embedded data. */
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { StartupError } from '../../lib/startup-error.ts'
import type { Logger } from '../observe/log.ts'

const KEY_BYTES = 32

/** 32 bytes written as 64 hex digits or as base64; undefined when it is neither. */
export function parseKey(text: string): Buffer | undefined {
  const trimmed = text.trim()
  if (/^[0-9a-f]{64}$/i.test(trimmed)) return Buffer.from(trimmed, 'hex')
  if (!/^[\w+/-]{43}=?$/.test(trimmed)) return undefined
  const bytes = Buffer.from(trimmed, 'base64')
  return bytes.length === KEY_BYTES ? bytes : undefined
}

/** What stops the start where something sealed does not open. */
export const otherRootKey = () =>
  new StartupError(
    'ENCRYPTION_KEY: the database was sealed with another root key; give the service that one.',
  )

/** Reads the key in `file`. @throws StartupError when there is none or it is not a key */
export async function readKeyFile(file: string): Promise<Buffer> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (error) {
    throw new StartupError(
      `ENCRYPTION_KEY_FILE: ${file} cannot be read (${(error as Error).message}).`,
    )
  }
  const key = parseKey(text)
  if (!key)
    throw new StartupError(`ENCRYPTION_KEY_FILE: ${file} does not hold 32 bytes in base64 or hex.`)
  return key
}

const fileIn = (dataDir: string): string => join(dataDir, 'root.key')

/** The key that a data folder already has. @throws StartupError when it has none */
export async function formerKey(dataDir: string): Promise<Buffer> {
  const file = fileIn(dataDir)
  if (!existsSync(file))
    throw new StartupError(
      `A backup opens by its root key alone: set ENCRYPTION_KEY or ENCRYPTION_KEY_FILE to it, or put it into ${file}.`,
    )
  return readKeyFile(file)
}

/** The key that the data folder keeps for itself, made at the first start and readable by nobody else. */
export async function ownKey(dataDir: string, log: Logger): Promise<Buffer> {
  const file = fileIn(dataDir)
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  if (!existsSync(file)) {
    // Written aside and renamed: a crash in between must not leave half a key.
    const draft = `${file}.${process.pid}`
    await writeFile(draft, `${randomBytes(KEY_BYTES).toString('base64')}\n`, {
      mode: 0o600,
      flush: true,
    })
    await rename(draft, file)
    log.warn({ file }, 'made a root key; keep a copy elsewhere: without it sealed data is lost')
  }
  return readKeyFile(file)
}
