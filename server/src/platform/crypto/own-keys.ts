/**
 * The root keys in a data folder: `root.key`, `root.key.next` during a rotation, and each previous key in
 * `root.key.FINGERPRINT`. After a crash at any point, all keys can still be found by their fingerprints.
 */
import { randomBytes } from 'node:crypto'
import { link, mkdir, open, readdir, readFile, rename, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { StartupError } from '../../lib/startup-error.ts'
import type { Logger } from '../observe/log.ts'
import { type ConfiguredKey, parseKey, type RootKeySource, readKeyFile } from './root-key.ts'
import { fingerprintOf } from './seal.ts'

const KEY_BYTES = 32
const OTHERS = /^root[.]key[.](?:next|[0-9a-f]{16})$/

export interface OwnKeys extends RootKeySource {
  /**
   * Stores the next root key, given or generated, before a rotation uses it. Repeated calls return the same key.
   * @throws StartupError if a different next key is already stored
   */
  keepNext(given?: ConfiguredKey): Promise<ConfiguredKey>
}

export function ownKeys(folder: string, log: Logger): OwnKeys {
  const file = join(folder, 'root.key')
  const next = `${file}.next`

  async function given(): Promise<ConfiguredKey[]> {
    const names = await namesIn(folder)
    const keys: ConfiguredKey[] = []
    if (names.includes('root.key')) keys.push({ key: await readKeyFile(file), from: file })
    for (const name of names.filter((one) => OTHERS.test(one))) {
      const from = join(folder, name)
      const key = parseKey(await readFile(from, 'utf8'))
      if (key) keys.push({ key, from })
    }
    return keys
  }

  return {
    given,
    async make() {
      const key = await publish(file, folder, randomBytes(KEY_BYTES))
      log.warn(
        { file },
        'root key created; keep a copy elsewhere, because encrypted data is lost without it',
      )
      return { key, from: file }
    },
    async keepNext(given) {
      const wanted = given?.key ?? randomBytes(KEY_BYTES)
      const key = await publish(next, folder, wanted)
      if (given && fingerprintOf(key) !== fingerprintOf(wanted))
        throw new StartupError(
          `${next} contains a different key than ${given.from}. To use the key of the file, remove ${given.from}; otherwise remove the file.`,
        )
      return { key, from: next }
    },
    async settle(fingerprint) {
      const keys = await given()
      const found = keys.find(({ key }) => fingerprintOf(key) === fingerprint)
      if (!found || found.from === file) return
      const current = keys.find(({ from }) => from === file)
      if (current) {
        const name = fingerprintOf(current.key)
        const kept = `${file}.${name}`
        await linkUnlessThere(file, kept)
        await sync(folder)
        if (fingerprintOf(await readKeyFile(kept)) !== name)
          throw new StartupError(
            `${kept} contains another key than the one in its name. Move the file to another folder and start again.`,
          )
        log.warn({ file: kept }, 'previous root key kept, because older backups may need it')
      }
      await rename(found.from, file)
      await sync(folder)
    },
  }
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

/**
 * Writes the key unless the file exists. Returns the file's key. Hard-links a draft, so that a crash leaves no partial
 * key and no key is overwritten. @throws StartupError if the file does not contain a key
 */
async function publish(file: string, folder: string, key: Uint8Array): Promise<Buffer> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const draft = `${file}.draft-${randomBytes(4).toString('hex')}`
  const text = `${Buffer.from(key).toString('base64')}\n`
  await writeFile(draft, text, { mode: 0o600, flush: true })
  try {
    await linkUnlessThere(draft, file)
  } finally {
    await unlink(draft)
  }
  await sync(folder)
  return readKeyFile(file)
}

async function linkUnlessThere(from: string, to: string): Promise<void> {
  try {
    await link(from, to)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

/** Makes renames and links in the folder durable. Windows cannot sync folders. */
async function sync(folder: string): Promise<void> {
  if (process.platform === 'win32') return
  const handle = await open(folder)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
