/** The `wardkeep keys` commands. They write results to stdout and progress to stderr. */

import { readConfig } from '../config/config.ts'
import { type KeySource, keySource } from '../config/key-source.ts'
import { systemTime } from '../lib/time.ts'
import { eventTenantId, ROOT_SEALED, SEALED, verifySealed } from '../open-features.ts'
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

/** Works without opening a service, because a broken key would prevent its start. @param looks true for reads only */
async function withKeys(
  work: (db: Scopes, source: KeySource) => Promise<void>,
  isReadOnly = false,
): Promise<void> {
  const config = readConfig()
  const log = openLog('warn', 2)
  const { address, stop } = await openExistingDatabase(config, log, isReadOnly)
  try {
    if (isReadOnly) await requireSchema(address, config)
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

/** Rotates the root key. No other process may use the database, because each caches the current key in memory. */
export function rotateRootKey(): Promise<void> {
  return withKeys(async (db, source) => {
    const { next } = source
    const rotation = { source, next, sealed: ROOT_SEALED, eventTenantId, onProgress }
    const rotated = await rotateRoot(db, rotation)
    process.stdout.write(summaryOf(rotated))
  })
}

/** Deletes all encrypted data. No other process may use the database. @throws StartupError if not confirmed */
export async function abandon(confirmed: string | undefined): Promise<void> {
  await withKeys((db, source) =>
    discardSealed(db, { source, confirmed, discard: deleteSealed, eventTenantId }),
  )
  process.stdout.write('Deleted. Start the service with a new root key.\n')
}

function summaryOf({ former, current, unreadable }: RotatedRoot): string {
  if (former === null) return `The root key of the database is already ${current}.\n`
  const left = unreadable.map((what) => `Not re-encrypted: ${what}.\n`).join('')
  return `${left}Root key ${current} replaced ${former}. Keep both: older backups need ${former} when they are restored on a new machine.\n`
}

const onProgress = (line: string) => void process.stderr.write(`${line}\n`)

/** Verifies that all encrypted values can be decrypted. Only reads, so a service may be running. */
export function verifyKeys(): Promise<void> {
  return withKeys(async (db, source) => {
    const deps = { db, sealer: await openRootSealer(db, source), sealed: SEALED }
    for await (const found of verifySealed({ ...deps, rootSealed: ROOT_SEALED }, onRows)) {
      const { table, rows, values, failed, unreadable } = found
      const line = `${table}: ${values} values in ${rows} rows, ${failed} cannot be decrypted`
      process.stdout.write([line, ...unreadable, ''].join('\n'))
      if (failed > 0) process.exitCode = 1
    }
  }, true)
}

const onRows = (table: string, rows: number) => onProgress(`${table}: ${rows} rows`)
