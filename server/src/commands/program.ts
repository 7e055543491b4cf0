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
  addAuditCommands(
    program.command('audit').description('the audit log, and proof that it is whole'),
  )
  program
    .command('stats')
    .description('the counts that charts show')
    .command('rebuild')
    .description('count the journal again; the service may be running')
    .action(async () => (await import('./stats.ts')).rebuildStats())
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

function addAuditCommands(audit: Command): void {
  // Exit status 1 means that the log was altered, so a wrong option must not end with it.
  const command = (name: string) =>
    audit
      .command(name)
      .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : NOT_CHECKED))
  command('key')
    .description(
      'print the key that verifies the signed heads of the audit logs, and former keys that still sign',
    )
    .action(async () => (await import('./audit.ts')).printAuditKey())
  command('rotate-key')
    .description(
      'replace the key that signs the heads of the audit logs; the former key signs along for 30 days',
    )
    .action(async () => (await import('./audit.ts')).rotateAuditKey())
  command('export')
    .description('export audit logs for verification elsewhere')
    .requiredOption(
      '--out <path>',
      'a new file that ends with .jsonl, or a new folder for a static log',
    )
    .option('--tenant <id>', 'export the log of this tenant only; 0 for entries without a tenant')
    .option('--from <date>', 'export entries from this date or time on; file only')
    .option('--to <date>', 'export entries up to and including this date or time; file only')
    .action(async (options) => (await import('./audit.ts')).exportAudit(options))
  command('erase')
    .description(
      'erase the e-mail address, IP address, user agent, request id and changes of entries, which cannot be undone; proofs stay valid',
    )
    .requiredOption('--tenant <id>', 'the tenant; 0 for entries without a tenant')
    .option('--user <id>', 'erase every entry by this user, about this user, or with their address')
    .option('--entry <id>', 'erase one entry')
    .requiredOption('--reason <text>', 'the reason, which the order in the log states')
    .action(async (options) => (await import('./audit.ts')).eraseAudit(options))
  command('verify [file-or-folder]')
    .description(
      'verify an export without a database, or the logs in the database; exits with 1 if a log was altered, with 2 if it could not be checked',
    )
    .option('--head <file>', 'a signed head that was kept; repeat for several', collect, [])
    .option('--key <vkey>', 'a key that was kept; repeat for several', collect, [])
    .option('--json', 'print JSON')
    .action(async (path, options) => (await import('./verify-audit.ts')).verifyAudit(path, options))
}

/** The exit status of `wardkeep audit` if something could not be checked. */
const NOT_CHECKED = 2

const collect = (value: string, values: readonly string[]): string[] => [...values, value]
