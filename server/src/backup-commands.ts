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
    .option('--json', 'print what it is as JSON')
    .action(async (what, options) => (await import('./backup-work.ts')).verify(what, options))
  backup
    .command('identity')
    .description('print the age identity that opens the backups, for the safe')
    .action(async () => (await import('./backup-work.ts')).identity())
  backup
    .command('adopt')
    .description('enter the backups of the store that the database does not know')
    .option('--json', 'print what was entered as JSON')
    .action(async (options) => (await import('./backup-work.ts')).adopt(options))
}
