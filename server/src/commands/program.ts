/** The command line. Each command loads its module when it is called, so that help and version are quick. */
import { Command } from 'commander'
import packageJson from '../../package.json' with { type: 'json' }

export function openProgram(): Command {
  const program = new Command('wardkeep')
    .description('Multi-tenant administration for clinical software')
    .version(packageJson.version, '--version', 'print the release, and stop')
  addServiceCommands(program)
  addBackupCommands(program.command('backup').description('backups'))
  addSelfHealingCommands(
    program.command('self-healing').description('faults that the service detects and repairs'),
  )
  addKeysCommands(program.command('keys').description('encryption keys'))
  return program
}

function addServiceCommands(program: Command): void {
  program
    .command('start')
    .description('start the service')
    .option('--role <role>', 'what this process does: api, worker or all', 'all')
    .action(async ({ role }) => (await import('./start.ts')).start(role))
  program
    .command('migrate')
    .description('migrate the database to this release, then exit')
    .action(async () => (await import('./service.ts')).migrateOnly())
  program
    .command('restore-tenant <id>')
    .description('restore a deleted tenant before it is purged')
    .action(async (id: string) => (await import('./service.ts')).restoreTenant(Number(id)))
  program
    .command('rotate-signing-key')
    .description('replace the key that signs access tokens; nobody is signed out')
    .option('--revoke', 'reject tokens of former keys immediately; clients have to refresh them')
    .action(async ({ revoke = false }) => (await import('./service.ts')).rotateSigningKey(revoke))
  program
    .command('admin')
    .description('recover the access of a superadmin')
    .command('reset <email>')
    .description('set a one-time password for a superadmin, and unblock the account')
    .option('--second-factor', 'also remove the second factor')
    .action(async (email: string, { secondFactor = false }) =>
      (await import('./service.ts')).resetOperator(email, secondFactor),
    )
  program
    .command('outbound')
    .description('outgoing mail, webhooks and messages')
    .command('release')
    .description('allow a restored copy to send; shut down the original service first')
    .action(async () => (await import('./service.ts')).releaseOutbound())
}

function addBackupCommands(backup: Command): void {
  backup
    .command('create')
    .description('create a full backup, or a backup of one tenant')
    .option('--tenant <id>', 'back up this tenant only')
    .option('--json', 'print JSON')
    .action(async (options) => (await import('./backup.ts')).create(options))
  backup
    .command('list')
    .description('list the backups, newest first')
    .option('--json', 'print JSON')
    .action(async (options) => (await import('./backup.ts')).listBackupsCommand(options))
  backup
    .command('verify <id-or-file>')
    .description('verify a backup by reading all of it; a file needs the root key but no database')
    .option('--drill', 'restore it into a temporary server')
    .option('--json', 'print JSON')
    .action(async (what, options) => (await import('./backup.ts')).verifyBackup(what, options))
  backup
    .command('restore <id-or-file>')
    .description('restore the database from a backup; a file requires an empty database')
    .option('--tenant <id>', 'restore the rows of this tenant only')
    .option(
      '--access <which>',
      'merged: access revoked since the backup stays revoked; backup: restore access exactly as it was',
    )
    .option('--dry-run', 'show what would change, without changing it')
    .option('--yes', 'overwrite everything changed since the backup; a safety backup keeps it')
    .option('--json', 'print JSON')
    .action(async (what, options) => (await import('./restore.ts')).restoreCommand(what, options))
  backup
    .command('identity')
    .description('print the age identity that decrypts the backups')
    .action(async () => (await import('./backup.ts')).identity())
  backup
    .command('adopt')
    .description('register backups in the store that are missing from the database')
    .option('--json', 'print JSON')
    .action(async (options) => (await import('./backup.ts')).adoptBackups(options))
  backup
    .command('forget-tenant <id>')
    .description('rewrite older full backups without a purged tenant')
    .option('--json', 'print JSON')
    .action(async (id, options) => (await import('./backup.ts')).forgetTenantInBackups(id, options))
}

function addSelfHealingCommands(selfHealing: Command): void {
  selfHealing
    .command('confirm <key>')
    .description('apply a proposed repair')
    .action(async (key: string) => (await import('./self-healing.ts')).confirmCommand(key))
  selfHealing
    .command('scan')
    .description('scan for faults; exits with 1 if a fault needs attention')
    .option('--json', 'print JSON')
    .action(async (options) => (await import('./self-healing.ts')).scanNow(options))
}

function addKeysCommands(keys: Command): void {
  keys
    .command('rotate-root')
    .description('replace the root key; stop the service first')
    .action(async () => (await import('./keys.ts')).rotateRootKey())
  keys
    .command('abandon [fingerprint]')
    .description(
      'delete everything that a lost root key encrypted, including patients; stop the service first',
    )
    .action(async (lost?: string) => (await import('./keys.ts')).abandon(lost))
  keys
    .command('verify')
    .description('decrypt everything that is encrypted, and list what fails')
    .action(async () => (await import('./keys.ts')).verifyKeys())
}
