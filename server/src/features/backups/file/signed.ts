/** Small texts that lie beside backups, with a MAC: what the list shows of one, notes of purged tenants. */
import { NotStoredError, type Store } from '../stores/store.ts'
import type { Keeper } from './identity.ts'

/** What is read of one at the most: they are a few hundred bytes. */
const MAX_TEXT = 1024 * 1024

/** Keeps it in the store; one of the name gives way to it. */
export async function writeSigned(
  store: Store,
  { sign }: Pick<Keeper, 'sign'>,
  name: string,
  value: object,
  signal: AbortSignal,
): Promise<void> {
  const told = JSON.stringify(value)
  const mac = sign(Buffer.from(told))
  const text = JSON.stringify({ ...JSON.parse(told), mac })
  await store.write(name, once(Buffer.from(`${text}\n`)), signal)
}

/** What it tells; a sentence where it was not written with this root key. @throws NotStoredError */
export async function readSigned(
  store: Store,
  keeper: Keeper,
  name: string,
): Promise<Record<string, unknown> | string> {
  let value: unknown
  try {
    value = JSON.parse(await textOf(store, name))
  } catch (error) {
    if (error instanceof SyntaxError) return 'it is no list entry'
    throw error
  }
  const { mac, ...told } = Object(value) as Record<string, unknown>
  if (typeof mac !== 'string' || !keeper.isSigned(Buffer.from(JSON.stringify(told)), mac))
    return 'it was not written with this root key'
  return told
}

/** As `readSigned`; undefined also where there is none. */
export async function findSigned(store: Store, keeper: Keeper, name: string) {
  try {
    const told = await readSigned(store, keeper, name)
    return typeof told === 'string' ? undefined : told
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
