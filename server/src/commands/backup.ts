/** `wardkeep backup`: its commands as they are typed; what they do is loaded when one is. */
import type { Command } from 'commander'

export function addBackupCommands(backup: Command): void {
  backup
    .command('create')
    .description('make a backup of everything, or of one tenant')
    .option('--tenant <id>', 'of this tenant alone')
    .option('--json', 'print it as JSON')
    .action(async (options) => (await import('./backup-work.ts')).create(options))
  backup
    .command('list')
    .description('the backups that the database knows, latest first')
    .option('--json', 'print them as JSON')
    .action(async (options) => (await import('./backup-work.ts')).list(options))
  backup
    .command('verify <id-or-file>')
    .description('read a backup to its end; a file needs the root key alone, and no database')
    .option('--drill', 'restore it into a server that is thrown away')
    .option('--json', 'print what it is as JSON')
    .action(async (what, options) => (await import('./backup-work.ts')).verify(what, options))
  backup
    .command('restore <id-or-file>')
    .description('put the database back to a backup; a file goes into an empty database')
    .option('--tenant <id>', 'the rows of this tenant alone')
    .option(
      '--access <which>',
      'merged: who lost access since stays without; backup: as it was then',
    )
    .option('--dry-run', 'say what it would do, and touch nothing')
    .option('--yes', 'do it: what was written since is in the safety backup alone')
    .option('--json', 'print what came of it as JSON')
    .action(async (what, options) =>
      (await import('./restore-work.ts')).restoreBackup(what, options),
    )
  backup
    .command('identity')
    .description('print the age identity that opens the backups, for the safe')
    .action(async () => (await import('./backup-work.ts')).identity())
  backup
    .command('adopt')
    .description('enter the backups of the store that the database does not know')
    .option('--json', 'print what was entered as JSON')
    .action(async (options) => (await import('./backup-work.ts')).adopt(options))
  backup
    .command('forget-tenant <id>')
    .description('write older backups of everything anew, without a tenant that was purged')
    .option('--json', 'print what became of each as JSON')
    .action(async (id, options) => (await import('./backup-work.ts')).forgetTenant(id, options))
}
