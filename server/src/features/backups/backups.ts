/** Backups, put together. */
import { resolve } from 'node:path'
import type { Needs } from '../../core.ts'
import type { RootSealed, SealedTable } from '../../platform/crypto/index.ts'
import { differingSafeguards } from '../../platform/db/fixes/index.ts'
import type { Conflicts, DatabaseAddress } from '../../platform/db/index.ts'
import type { Feature } from '../../platform/feature.ts'
import { canFail } from '../../platform/observe/can-fail.ts'
import type { RestoreColumns, RestoreSteps } from '../../platform/restore-columns.ts'
import { isBackedUp, type PurgedRecords, type RestoreRules } from '../../platform/restore-rule.ts'
import { backupOperations } from './backups.routes.ts'
import { backupsService } from './backups.service.ts'
import { type BackupCommands, backupCommands } from './commands/commands.ts'
import { schedulesDrills } from './drill/planned.ts'
import { proveDatabase, proveSeals } from './drill/seals.ts'
import { clearThrownAway } from './drill/throw-away.ts'
import { startErasing } from './erase/erase.ts'
import { openKeeper } from './file/identity.ts'
import { checksBackups } from './fixes/check.ts'
import { backupFixes } from './fixes/fixes.ts'
import { deletesOutdated } from './schedule/retention.ts'
import { schedulesBackups } from './schedule/schedule.ts'
import { watchBackups } from './schedule/watch.ts'
import { openStore } from './stores/open.ts'
import { startPresence } from './work/presence.ts'
import { openReading } from './work/reading.ts'
import { type BackupWorker, startWorker } from './work/worker.ts'

type Core = Needs<
  'db' | 'log' | 'clock' | 'jobs' | 'hold' | 'ofRootKeys' | 'sealer' | 'openConnection',
  | 'NODE_ENV'
  | 'DATABASE_URL'
  | 'DATA_DIR'
  | 'BACKUP_DIR'
  | 'BACKUP_S3_URL'
  | 'BACKUP_S3_LOCK_DAYS'
  | 'BACKUP_SCHEDULE'
  | 'BACKUP_DRILL_SCHEDULE'
  | 'BACKUP_KEEP'
  | 'BACKUP_AGE_RECIPIENT'
>

/** The declarations of the other features that backups need. */
export interface BackedUp {
  /** The restore rule of each table. */
  tables: RestoreRules
  /** The restore rules of the columns of restored and merged tables. */
  columns: RestoreColumns
  /** The steps of the features within a restore in place. */
  steps: readonly RestoreSteps[]
  /** The tables with sealed columns. */
  sealed: readonly SealedTable[]
  /** The values that the root key encrypts. */
  rootSealed: readonly RootSealed[]
  /** Records that come back from no backup once they were destroyed. */
  purgedRecords: readonly PurgedRecords[]
  /** The problem that a broken constraint is, in the words of its feature. */
  conflicts: Conflicts
}

export async function openBackups(
  core: Core,
  { tables, columns, steps, sealed, rootSealed, purgedRecords, conflicts }: BackedUp,
): Promise<Feature & { commands: BackupCommands }> {
  const { db, log, hold, ofRootKeys, openConnection, config } = core
  const keeper = await openKeeper(ofRootKeys, config.BACKUP_AGE_RECIPIENT)
  const { store, folder } = openStore(core)
  let worker: BackupWorker | undefined
  const wake = () => worker?.wake()
  const reading = openReading(core)
  const service = backupsService({ db, store, log, wake, reading })
  schedulesBackups({ ...core, cron: config.BACKUP_SCHEDULE, wake })
  const dataDir = resolve(config.DATA_DIR)
  const prove = (address: DatabaseAddress) => proveDatabase(address, core.sealer, sealed)
  const drills = { db, log, dataDir, keeper, store, prove, reading }
  schedulesDrills({ ...drills, jobs: core.jobs, cron: config.BACKUP_DRILL_SCHEDULE })
  checksBackups({ ...core, store, keeper, reading })
  const keep = config.BACKUP_KEEP
  const onMade = deletesOutdated({ ...core, store, keep, rootSealed })
  const watch = watchBackups({ ...core, store, folder })
  const differing = differingSafeguards(core)
  const backedUp = Object.keys(tables).filter((name) => isBackedUp(tables[name]))
  const work = (only?: string) =>
    startWorker({
      db,
      clock: core.clock,
      log,
      keeper,
      store,
      openConnection,
      tables: backedUp,
      rules: tables,
      columns,
      steps,
      purgedRecords,
      conflicts,
      prove: (client) => proveSeals(client, core.sealer, sealed),
      differing,
      dataDir,
      onMade,
      only,
    })
  return {
    name: 'backups',
    operations: backupOperations(service),
    checks: { backups: watch.check },
    upkeep: [watch.upkeep],
    fixes: backupFixes({ ...core, store, keeper, cron: config.BACKUP_SCHEDULE }),
    commands: backupCommands({ ...drills, startWorker: work }),
    background() {
      void canFail(clearThrownAway(dataDir, log), 'clearing what drills have left', log)
      worker = work()
      const presence = startPresence(core)
      let erasing: ReturnType<typeof startErasing> | undefined
      hold.whenReleased(() => {
        erasing = startErasing({ db, store, keeper, log, purgedRecords })
      })
      return {
        idle: () => Promise.all([worker?.idle(), erasing?.idle()]),
        stop: () => Promise.all([worker?.stop(), presence.stop(), erasing?.stop()]),
      }
    },
    close: store.close,
  }
}
