import { resolve } from 'node:path'
import type { Needs } from '../../core.ts'
import type { RootSealed, SealedTable } from '../../platform/crypto/index.ts'
import type { Conflicts, DatabaseAddress } from '../../platform/db/index.ts'
import type { Feature } from '../../platform/feature/feature.ts'
import type { RestoreColumns, RestoreSteps } from '../../platform/feature/restore-columns.ts'
import {
  isBackedUp,
  type PurgedRecords,
  type RestoreRules,
} from '../../platform/feature/restore-rule.ts'
import { trackedJobs } from '../../platform/jobs/index.ts'
import { canFail } from '../../platform/observe/can-fail.ts'
import { differingSafeguards } from '../../platform/schema/repairs/index.ts'
import { backupOperations } from './backups.routes.ts'
import { backupsService } from './backups.service.ts'
import { type IdentifySession, ticketUpkeep } from './download/tickets.ts'
import { openDrills } from './drill/drills.ts'
import { schedulesDrills } from './drill/scheduled-drill.ts'
import { clearThrownAway } from './drill/temporary-server.ts'
import { verifyDatabase, verifySealedRows } from './drill/verify-sealed.ts'
import { startErasing } from './erase/erase.ts'
import { openBackupKeys } from './file/identity.ts'
import { orphans } from './fixes/orphans.ts'
import { DAMAGED, missing } from './fixes/unusable.ts'
import { watchBackups } from './health.ts'
import { type BackupCommands, backupCommands } from './operator/commands.ts'
import { backupsAttention } from './overview.ts'
import { deletesOutdated } from './schedule/retention.ts'
import { schedulesBackups } from './schedule/schedule.ts'
import { openStore } from './stores/open.ts'
import { checksBackups } from './verify/verify-files.ts'
import { openBackupLocks } from './work/locks.ts'
import { backupJobs } from './work/long-jobs.ts'
import { startPresence } from './work/presence.ts'
import { openReading } from './work/reading.ts'
import { type BackupWorker, startBackupWorker } from './work/worker.ts'

type Core = Needs<
  'db' | 'log' | 'clock' | 'jobs' | 'hold' | 'ofRootKeys' | 'sealer' | 'replica' | 'openConnection',
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

/** The declarations that backups need from the other features. */
export interface BackedUp {
  tables: RestoreRules
  /** The restore rules for columns of tables that a restore replaces or merges. */
  columns: RestoreColumns
  /** The steps that features run during a restore in place. */
  steps: readonly RestoreSteps[]
  sealed: readonly SealedTable[]
  /** The values that are encrypted directly with the root key. */
  rootSealed: readonly RootSealed[]
  /** Tables whose individually purged records must never be restored. */
  purgedRecords: readonly PurgedRecords[]
  /** Maps each database constraint to the problem that its feature throws when it is violated. */
  conflicts: Conflicts
}

export async function openBackups(
  core: Core,
  { tables, columns, steps, sealed, rootSealed, purgedRecords, conflicts }: BackedUp,
  identify: IdentifySession,
): Promise<Feature & { commands: BackupCommands }> {
  const { db, log, hold, ofRootKeys, openConnection, config } = core
  const backupKeys = await openBackupKeys(ofRootKeys, config.BACKUP_AGE_RECIPIENT)
  const { store, folder } = openStore(core)
  let worker: BackupWorker | undefined
  const wake = () => worker?.wake()
  const locks = openBackupLocks(core)
  const reading = openReading(locks)
  schedulesBackups({ ...core, cron: config.BACKUP_SCHEDULE, wake })
  const dataDir = resolve(config.DATA_DIR)
  const verify = (address: DatabaseAddress) => verifyDatabase(address, core.sealer, sealed)
  const drilling = { db, log, dataDir, backupKeys, store, verify, reading }
  const drills = openDrills(drilling)
  const service = backupsService({ ...core, store, wake, reading, drills, identify })
  schedulesDrills({ ...drilling, jobs: core.jobs, cron: config.BACKUP_DRILL_SCHEDULE })
  checksBackups({ ...core, store, backupKeys, reading })
  const keep = config.BACKUP_KEEP
  const onCreated = deletesOutdated({ ...core, store, keep, rootSealed })
  const watch = watchBackups({ ...core, store, folder })
  const differing = differingSafeguards(core)
  const backedUp = Object.keys(tables).filter((name) => isBackedUp(tables[name]))
  const work = (only?: string) =>
    startBackupWorker({
      db,
      clock: core.clock,
      log,
      backupKeys,
      store,
      locks,
      openConnection,
      replica: core.replica,
      tables: backedUp,
      rules: tables,
      columns,
      steps,
      purgedRecords,
      conflicts,
      verify: (client) => verifySealedRows(client, core.sealer, sealed),
      differing,
      dataDir,
      onCreated,
      only,
    })
  return {
    name: 'backups',
    operations: backupOperations(service),
    checks: { backups: watch.check },
    attention: backupsAttention(watch.freshness),
    upkeep: [watch.upkeep, ticketUpkeep(db)],
    jobs: [backupJobs(db), trackedJobs(db, ['drill'], 'bytes')],
    fixes: [missing({ ...core, store }), DAMAGED, orphans({ ...core, store, backupKeys })],
    commands: backupCommands({ ...drilling, startWorker: work }),
    background() {
      void canFail(clearThrownAway(dataDir, log), 'cleanup after test restores', log)
      worker = work()
      const presence = startPresence(locks, core)
      let erasing: ReturnType<typeof startErasing> | undefined
      hold.whenReleased(() => {
        erasing = startErasing({ db, store, backupKeys, log, purgedRecords })
      })
      return {
        idle: () => Promise.all([worker?.idle(), erasing?.idle(), drills.idle()]),
        stop: () => Promise.all([worker?.stop(), presence.stop(), erasing?.stop()]),
      }
    },
    stopping: drills.stop,
    async close() {
      await drills.idle()
      await store.close()
    },
  }
}
