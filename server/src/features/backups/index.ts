/** The parts of the backups feature that the composition root uses. */

export { BACKUP_TABLES } from './backups.table.ts'
export { openBackups } from './backups.ts'
export { backupIdentity, verifyBackupFile } from './operator/root-key-only.ts'
export { restoreFile } from './restore-into-empty/restore-file.ts'
export { storeBy } from './stores/open.ts'
