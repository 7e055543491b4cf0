/** What `wardkeep keys` does. What was asked for goes to stdout, how far it is to stderr. */
import { ROOT_SEALED } from './app.ts'
import { withApp } from './commands.ts'
import { readConfig } from './config.ts'
import { keySource } from './key-source.ts'
import { type RotatedRoot, rotateRoot } from './platform/crypto/index.ts'
import { alone, openScopes } from './platform/db/index.ts'
import { openLog } from './platform/observe/log.ts'
import { migrateOrExplain, openDatabase } from './start.ts'

/** Without any other process on the database: each has the current key in its memory. */
export async function rotateRootKey(): Promise<void> {
  const config = readConfig()
  const log = openLog('warn', 2)
  const source = keySource(config, log)
  const { address, stop } = await openDatabase(config, log)
  try {
    await migrateOrExplain(address, config, log)
    const db = openScopes(address, { size: 1, changes: alone, log })
    try {
      const { next } = source
      const rotated = await rotateRoot(db, { source, next, sealed: ROOT_SEALED, onProgress })
      process.stdout.write(told(rotated))
    } finally {
      await db.close()
    }
  } finally {
    await stop()
  }
}

function told({ former, current, unreadable }: RotatedRoot): string {
  if (former === null) return `The root key of the database is ${current} already.\n`
  const left = unreadable.map((what) => `Left as it is: ${what}.\n`).join('')
  return `${left}Root key ${current} has taken the place of ${former}. Backups from before open on a bare machine with ${former} alone: keep both.\n`
}

const onProgress = (line: string) => void process.stderr.write(`${line}\n`)

/** Beside a running service, or without one. */
export async function verify(): Promise<void> {
  let faults = 0
  await withApp(async (app) => {
    const lines: string[] = []
    for await (const found of app.features.encryption.commands.verify(onRows)) {
      const { table, rows, values, unreadable } = found
      faults += unreadable.length
      lines.push(`${table}: ${values} values in ${rows} rows, ${unreadable.length} do not open`)
      lines.push(...unreadable)
    }
    return lines.join('\n')
  }, true)
  if (faults > 0) process.exitCode = 1
}

const onRows = (table: string, rows: number) => onProgress(`${table}: ${rows} rows`)
