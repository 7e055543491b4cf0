/**
 * The root key that a data folder keeps for itself, in files that nobody else may read: `root.key`, during
 * a rotation `root.key.next`, and `root.key.FINGERPRINT` for each one before. A crash at any point leaves
 * all keys where they can be found by their fingerprints.
 */
import { randomBytes } from 'node:crypto'
import { link, mkdir, open, readdir, readFile, rename, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { StartupError } from '../../lib/startup-error.ts'
import type { Logger } from '../observe/log.ts'
import { type GivenKey, parseKey, type RootKeySource, readKeyFile } from './root-key.ts'
import { fingerprintOf } from './seal.ts'

const KEY_BYTES = 32
const OTHERS = /^root[.]key[.](?:next|[0-9a-f]{16})$/

export interface OwnKeys extends RootKeySource {
  /**
   * Keeps the key that is to take the place of the current one, before it does: that which is given, or one that is
   * made; again, it is the same. @throws StartupError where another one is kept as the next
   */
  keepNext(given?: GivenKey): Promise<GivenKey>
}

export function ownKeys(folder: string, log: Logger): OwnKeys {
  const file = join(folder, 'root.key')
  const next = `${file}.next`

  async function given(): Promise<GivenKey[]> {
    const names = await namesIn(folder)
    const keys: GivenKey[] = []
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
      log.warn({ file }, 'made a root key; keep a copy elsewhere: without it sealed data is lost')
      return { key, from: file }
    },
    async keepNext(given) {
      const wanted = given?.key ?? randomBytes(KEY_BYTES)
      const key = await publish(next, folder, wanted)
      if (given && fingerprintOf(key) !== fingerprintOf(wanted))
        throw new StartupError(
          `${next} holds another key than ${given.from}: remove ${given.from} to go on with the file's, or the file.`,
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
          throw new StartupError(`${kept} does not hold the key that it is named after.`)
        log.warn({ file: kept }, 'the former root key is kept; backups from before may need it')
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
 * Puts the key into the file, unless somebody has put one there: written aside, so that a crash leaves no half of one,
 * and never over another. Returns the file's. @throws StartupError where what is there is no key
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

/** Makes names durable; Windows has no such call. */
async function sync(folder: string): Promise<void> {
  if (process.platform === 'win32') return
  const handle = await open(folder)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
