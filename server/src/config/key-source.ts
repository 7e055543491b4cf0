/** The source of this process's root keys: variables, or files in the data folder. */
import { resolve } from 'node:path'
import { StartupError } from '../lib/startup-error.ts'
import {
  type ConfiguredKey,
  fingerprintOf,
  ownKeys,
  type RootKeySource,
  readKeyFile,
} from '../platform/crypto/index.ts'
import type { Logger } from '../platform/observe/log.ts'
import type { Config } from './config.ts'

type Keys = Pick<
  Config,
  | 'DATA_DIR'
  | 'ENCRYPTION_KEY'
  | 'ENCRYPTION_KEY_FILE'
  | 'ENCRYPTION_KEY_NEXT'
  | 'ENCRYPTION_KEY_NEXT_FILE'
>

export interface KeySource extends RootKeySource {
  /** Returns the key that will replace the current one. @throws StartupError if no next key is configured */
  next(): Promise<ConfiguredKey>
}

/** Returns the source of root keys. If no key is configured, generates one in the data folder. */
export function keySource(config: Keys, log: Logger): KeySource {
  const own = ownKeys(resolve(config.DATA_DIR), log)
  const isOwn = !config.ENCRYPTION_KEY && !config.ENCRYPTION_KEY_FILE
  const next = () => keyOf(config, 'ENCRYPTION_KEY_NEXT')

  return {
    async given() {
      const given = isOwn ? await own.given() : [await keyOf(config, 'ENCRYPTION_KEY')]
      return [...given, await next()].filter((one) => one !== undefined)
    },
    make: own.make,
    async settle(fingerprint) {
      const coming = await next()
      if (isOwn) await own.settle(fingerprint)
      else if (coming && fingerprintOf(coming.key) === fingerprint)
        log.warn(
          { root_key: fingerprint },
          `root key was rotated; set ENCRYPTION_KEY to the key in ${coming.from}`,
        )
    },
    async next() {
      const given = await next()
      // Also saves the key in the data folder, so that the key is not lost if the variable is removed later.
      if (isOwn) return own.keepNext(given)
      if (given) return given
      throw new StartupError(
        'ENCRYPTION_KEY_NEXT_FILE: set it to a file with the new root key. Create one with `(umask 077; openssl rand -base64 32 > FILE)`, and keep a copy.',
      )
    },
  }
}

/** Returns all existing root keys, for commands without a database. @throws StartupError if there is none */
export async function givenKeys(
  config: Keys,
  log: Logger,
): Promise<readonly [Uint8Array, ...Uint8Array[]]> {
  const [first, ...others] = await keySource(config, log).given()
  if (first) return [first.key, ...others.map(({ key }) => key)]
  throw new StartupError(
    `A backup can only be decrypted with its root key. Set ENCRYPTION_KEY or ENCRYPTION_KEY_FILE to that key, or put the key into ${resolve(config.DATA_DIR, 'root.key')}.`,
  )
}

async function keyOf(
  config: Keys,
  variable: 'ENCRYPTION_KEY' | 'ENCRYPTION_KEY_NEXT',
): Promise<ConfiguredKey | undefined> {
  const key = config[variable]
  if (key) return { key, from: variable }
  const file = config[`${variable}_FILE`]
  return file ? { key: await readKeyFile(file, `${variable}_FILE`), from: file } : undefined
}
