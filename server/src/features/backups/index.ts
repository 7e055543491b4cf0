/** Exports the backups feature to the composition root. */

export { BACKUP_TABLES } from './backups.table.ts'
export { openBackups } from './backups.ts'
export { backupIdentity, verifyBackupFile } from './operator/root-key-only.ts'
export { restoreFile } from './restore-into-empty/restore-file.ts'
export { storeBy } from './stores/open.ts'
