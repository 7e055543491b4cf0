/** What `wardkeep keys` does. What was asked for goes to stdout, how far it is to stderr. */
import { findPlatformTenant, ROOT_SEALED, SEALED, verifySealed } from '../app.ts'
import { readConfig } from '../config/config.ts'
import { type KeySource, keySource } from '../config/key-source.ts'
import { systemTime } from '../lib/time.ts'
import {
  discardSealed,
  openRootSealer,
  type RotatedRoot,
  rotateRoot,
} from '../platform/crypto/index.ts'
import { alone, openScopes, type Scopes } from '../platform/db/index.ts'
import { openLog } from '../platform/observe/log.ts'
import { deleteSealed } from './lost-root.store.ts'
import { migrateOrExplain, openExistingDatabase, requireSchema } from './start.ts'

/**
 * Works on the database without a service, which a broken key would keep from starting.
 * @param looks whether it changes nothing, also beside a service
 */
async function withKeys(
  work: (db: Scopes, source: KeySource) => Promise<void>,
  looks = false,
): Promise<void> {
  const config = readConfig()
  const log = openLog('warn', 2)
  const { address, stop } = await openExistingDatabase(config, log, looks)
  try {
    if (looks) await requireSchema(address, config)
    else await migrateOrExplain(address, config, log)
    const source = keySource(config, log)
    const db = openScopes(address, { size: 1, changes: alone, log, clock: systemTime })
    try {
      await work(db, source)
    } finally {
      await db.close()
    }
  } finally {
    await stop()
  }
}

/** Without any other process on the database: each has the current key in its memory. */
export function rotateRootKey(): Promise<void> {
  return withKeys(async (db, source) => {
    const { next } = source
    const rotation = { source, next, sealed: ROOT_SEALED, findPlatformTenant, onProgress }
    const rotated = await rotateRoot(db, rotation)
    process.stdout.write(told(rotated))
  })
}

/** Without any other process on the database. @throws StartupError unless the lost key is confirmed */
export async function abandon(confirmed: string | undefined): Promise<void> {
  await withKeys((db, source) =>
    discardSealed(db, { source, confirmed, discard: deleteSealed, findPlatformTenant }),
  )
  process.stdout.write('Deleted. Start the service with a new root key.\n')
}

function told({ former, current, unreadable }: RotatedRoot): string {
  if (former === null) return `The root key of the database is ${current} already.\n`
  const left = unreadable.map((what) => `Left as it is: ${what}.\n`).join('')
  return `${left}Root key ${current} has taken the place of ${former}. Backups from before open on a bare machine with ${former} alone: keep both.\n`
}

const onProgress = (line: string) => void process.stderr.write(`${line}\n`)

/** Beside a running service, or without one. It writes nothing. */
export function verify(): Promise<void> {
  return withKeys(async (db, source) => {
    const deps = { db, sealer: await openRootSealer(db, source), sealed: SEALED }
    for await (const found of verifySealed({ ...deps, rootSealed: ROOT_SEALED }, onRows)) {
      const { table, rows, values, failed, unreadable } = found
      const line = `${table}: ${values} values in ${rows} rows, ${failed} do not open`
      process.stdout.write([line, ...unreadable, ''].join('\n'))
      if (failed > 0) process.exitCode = 1
    }
  }, true)
}

const onRows = (table: string, rows: number) => onProgress(`${table}: ${rows} rows`)
