/** Opens the database for commands that do not open the service. */
import { type Config, readConfig } from '../config/config.ts'
import { type KeySource, keySource } from '../config/key-source.ts'
import { systemTime } from '../lib/time.ts'
import { alone, openScopes, type Scopes } from '../platform/db/index.ts'
import { type Logger, openLog } from '../platform/observe/log.ts'
import { migrateOrExplain, openExistingDatabase, requireSchema } from './start.ts'

export interface CommandDatabase {
  db: Scopes
  source: KeySource
  config: Config
  log: Logger
}

/**
 * Works without opening a service, because a broken key would prevent its start.
 * @param joins true to use the database beside a running service, whose schema the command does not change
 */
export async function withDatabase<T>(
  work: (opened: CommandDatabase) => Promise<T>,
  joins = false,
): Promise<T> {
  const config = readConfig()
  const log = openLog('warn', 2)
  const { address, stop } = await openExistingDatabase(config, log, joins)
  try {
    if (joins) await requireSchema(address, config)
    else await migrateOrExplain(address, config, log)
    const source = keySource(config, log)
    const db = openScopes(address, { size: 1, changes: alone, log, clock: systemTime })
    try {
      return await work({ db, source, config, log })
    } finally {
      await db.close()
    }
  } finally {
    await stop()
  }
}
