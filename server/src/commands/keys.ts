/** The `wardkeep keys` commands. They write results to stdout and progress to stderr. */
import { eventTenantId, ROOT_SEALED, SEALED, verifySealed } from '../open-features.ts'
import {
  discardSealed,
  openRootSealer,
  type RotatedRoot,
  rotateRoot,
} from '../platform/crypto/index.ts'
import { withDatabase } from './database.ts'
import { deleteSealed } from './lost-root.store.ts'

/** Rotates the root key. No other process may use the database, because each caches the current key in memory. */
export function rotateRootKey(): Promise<void> {
  return withDatabase(async ({ db, source }) => {
    const { next } = source
    const rotation = { source, next, sealed: ROOT_SEALED, eventTenantId, onProgress }
    const rotated = await rotateRoot(db, rotation)
    process.stdout.write(summaryOf(rotated))
  })
}

/** Deletes all encrypted data. No other process may use the database. @throws StartupError if not confirmed */
export async function abandon(confirmed: string | undefined): Promise<void> {
  await withDatabase(({ db, source }) =>
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
  return withDatabase(async ({ db, source }) => {
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
