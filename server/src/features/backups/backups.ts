/** Backups, put together. */
import { join, resolve } from 'node:path'
import type { Needs } from '../../core.ts'
import type { Feature } from '../../platform/feature.ts'
import { isBackedUp, type RestoreRules } from '../../platform/restore-rule.ts'
import { backupOperations } from './backups.routes.ts'
import { backupsService } from './backups.service.ts'
import { openKeeper } from './file/identity.ts'
import { folderStore } from './stores/folder.ts'
import { type BackupWorker, startWorker } from './work/worker.ts'

type Core = Needs<
  'db' | 'log' | 'deriveKey' | 'openConnection',
  'DATA_DIR' | 'BACKUP_DIR' | 'BACKUP_AGE_RECIPIENT'
>

/** @param tables what a restore does with each table of the service */
export async function openBackups(
  { db, log, deriveKey, openConnection, config }: Core,
  tables: RestoreRules,
): Promise<Feature> {
  const keeper = await openKeeper(deriveKey, config.BACKUP_AGE_RECIPIENT)
  const store = folderStore(resolve(config.BACKUP_DIR ?? join(config.DATA_DIR, 'backups')))
  let worker: BackupWorker | undefined
  const service = backupsService({ db, store, log, wake: () => worker?.wake() })
  const backedUp = Object.keys(tables).filter((name) => isBackedUp(tables[name]))
  return {
    name: 'backups',
    operations: backupOperations(service),
    conflicts: { backup_jobs__one_at_a_time: 'backup_running' },
    background() {
      worker = startWorker({ db, log, keeper, store, openConnection, tables: backedUp })
      return { stop: () => worker?.stop() ?? Promise.resolve() }
    },
  }
}
