/** Opens the configured backup store. */
import { join, resolve } from 'node:path'
import type { Needs } from '../../../core.ts'
import { systemTime } from '../../../lib/time.ts'
import { folderStore } from './folder.ts'
import { s3Store } from './s3/s3.ts'
import type { OpenStore } from './store.ts'

type Core = Needs<'clock', 'DATA_DIR' | 'BACKUP_DIR' | 'BACKUP_S3_URL' | 'BACKUP_S3_LOCK_DAYS'>

/** Returns the configured store, and its folder if the store is on this machine. */
export function openStore({ clock, config }: Core): { store: OpenStore; folder?: string } {
  const { BACKUP_S3_URL: bucket, BACKUP_S3_LOCK_DAYS: lockDays } = config
  if (bucket) return { store: s3Store({ ...bucket, clock, lockDays }) }
  const folder = resolve(config.BACKUP_DIR ?? join(config.DATA_DIR, 'backups'))
  return { store: folderStore(folder), folder }
}

/** Opens the configured store for a caller outside the service. The caller must close the store. */
export const storeBy = (config: Core['config']): OpenStore =>
  openStore({ clock: systemTime, config }).store
