/** What the composition root may use of backups. */

export { BACKUP_TABLES } from './backups.table.ts'
export { openBackups } from './backups.ts'
export { backupIdentity, verifyBackupFile } from './commands/by-key.ts'
export { restoreFile } from './restore-into-empty/restore-file.ts'
export { storeBy } from './stores/open.ts'
