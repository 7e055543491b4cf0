/** Backups, put together. */
import { join, resolve } from 'node:path'
import type { Needs } from '../../core.ts'
import type { SealedTable } from '../../platform/crypto/index.ts'
import type { Feature } from '../../platform/feature.ts'
import { canFail } from '../../platform/observe/can-fail.ts'
import { isBackedUp, type RestoreRules } from '../../platform/restore-rule.ts'
import { backupOperations } from './backups.routes.ts'
import { backupsService } from './backups.service.ts'
import { type BackupCommands, backupCommands } from './commands/commands.ts'
import { clearDrills } from './drill/drill.ts'
import { schedulesDrills } from './drill/planned.ts'
import { openKeeper } from './file/identity.ts'
import { deletesOutdated } from './schedule/retention.ts'
import { schedulesBackups } from './schedule/schedule.ts'
import { watchBackups } from './schedule/watch.ts'
import { folderStore } from './stores/folder.ts'
import { type BackupWorker, startWorker } from './work/worker.ts'

type Core = Needs<
  'db' | 'log' | 'clock' | 'jobs' | 'deriveKey' | 'sealer' | 'openConnection',
  | 'NODE_ENV'
  | 'DATABASE_URL'
  | 'DATA_DIR'
  | 'BACKUP_DIR'
  | 'BACKUP_SCHEDULE'
  | 'BACKUP_DRILL_SCHEDULE'
  | 'BACKUP_KEEP'
  | 'BACKUP_AGE_RECIPIENT'
>

/**
 * @param tables what a restore does with each table of the service
 * @param sealed the tables with sealed columns
 */
export async function openBackups(
  core: Core,
  tables: RestoreRules,
  sealed: readonly SealedTable[],
): Promise<Feature & { commands: BackupCommands }> {
  const { db, log, deriveKey, openConnection, config } = core
  const keeper = await openKeeper(deriveKey, config.BACKUP_AGE_RECIPIENT)
  const folder = resolve(config.BACKUP_DIR ?? join(config.DATA_DIR, 'backups'))
  const store = folderStore(folder)
  let worker: BackupWorker | undefined
  const wake = () => worker?.wake()
  const service = backupsService({ db, store, log, wake })
  schedulesBackups({ ...core, cron: config.BACKUP_SCHEDULE, wake })
  const dataDir = resolve(config.DATA_DIR)
  const cron = config.BACKUP_DRILL_SCHEDULE
  schedulesDrills({ ...core, dataDir, keeper, sealed, store, cron })
  const { isBeingRead } = service
  const onMade = deletesOutdated({ ...core, store, keep: config.BACKUP_KEEP, isBeingRead })
  const watch = watchBackups({ ...core, folder })
  const backedUp = Object.keys(tables).filter((name) => isBackedUp(tables[name]))
  const work = (only?: string) =>
    startWorker({
      db,
      log,
      keeper,
      store,
      openConnection,
      tables: backedUp,
      rules: tables,
      onMade,
      only,
    })
  return {
    name: 'backups',
    operations: backupOperations(service),
    checks: { backups: watch.check },
    upkeep: [watch.upkeep],
    conflicts: { backup_jobs__one_at_a_time: 'backup_running' },
    commands: backupCommands({ db, store, keeper, startWorker: work }),
    background() {
      void canFail(clearDrills(dataDir, log), 'clearing what drills have left', log)
      worker = work()
      return { stop: () => worker?.stop() ?? Promise.resolve() }
    },
  }
}
