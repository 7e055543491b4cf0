/** Reads and writes small signed JSON files next to backups: list entries and notes of purged data. */
import { NotStoredError, type Store } from '../stores/store.ts'
import type { BackupKeys } from './identity.ts'

/** The maximum number of bytes read from a signed file. A list entry normally has a few hundred. */
const MAX_TEXT = 1024 * 1024

/** Signs a value and writes it to the store as JSON. Replaces an existing file of the same name. */
export async function writeSigned(
  store: Store,
  { sign }: Pick<BackupKeys, 'sign'>,
  name: string,
  value: object,
  signal: AbortSignal,
): Promise<void> {
  const contents = JSON.stringify(value)
  const mac = sign(Buffer.from(contents))
  const text = JSON.stringify({ ...JSON.parse(contents), mac })
  await store.write(name, once(Buffer.from(`${text}\n`)), signal)
}

/** Reads a signed file. Returns an error message if it is invalid or not signed. @throws NotStoredError if missing */
export async function readSigned(
  store: Store,
  backupKeys: BackupKeys,
  name: string,
): Promise<Record<string, unknown> | string> {
  let value: unknown
  try {
    value = JSON.parse(await textOf(store, name))
  } catch (error) {
    if (error instanceof SyntaxError) return 'the list entry is invalid'
    throw error
  }
  const { mac, ...contents } = Object(value) as Record<string, unknown>
  if (typeof mac !== 'string' || !backupKeys.isSigned(Buffer.from(JSON.stringify(contents)), mac))
    return 'it was not signed with this root key'
  return contents
}

/** Returns the contents of a signed file. Returns undefined if the file is missing, invalid or not signed correctly. */
export async function findSigned(store: Store, backupKeys: BackupKeys, name: string) {
  try {
    const contents = await readSigned(store, backupKeys, name)
    return typeof contents === 'string' ? undefined : contents
  } catch (error) {
    if (error instanceof NotStoredError) return undefined
    throw error
  }
}

async function textOf(store: Store, name: string): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of store.read(name)) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes > MAX_TEXT) return ''
  }
  return Buffer.concat(chunks).toString()
}

async function* once(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes
}
