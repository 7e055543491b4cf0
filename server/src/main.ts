#!/usr/bin/env node
/** The `wardkeep` command. */
import { enableCompileCache } from 'node:module'
import packageJson from '../package.json' with { type: 'json' }
import { Problem } from './lib/problems.ts'
import { StartupError } from './lib/startup-error.ts'

enableCompileCache()
// Sockets are closed by the stop; a peer that went away must not end the process.
process.on('unhandledRejection', fail)
// Work goes on where nobody can be told how far it is, as on a full disk.
process.stderr.on('error', () => undefined)

const { Command } = await import('commander')
const program = new Command('wardkeep')
  .description('Multi-tenant administration for clinical software')
  .version(packageJson.version, '--version', 'print the release, and stop')

program
  .command('start')
  .description('start the service')
  .option('--role <role>', 'what this process does: api, worker or all', 'all')
  .action(async ({ role }) => (await import('./commands/start.ts')).start(role))
program
  .command('migrate')
  .description("bring the database to this release's schema, and stop")
  .action(async () => (await import('./commands/service.ts')).migrateOnly())
program
  .command('restore-tenant <id>')
  .description('put a deleted tenant back, before it is purged')
  .action(async (id: string) => (await import('./commands/service.ts')).restoreTenant(Number(id)))
program
  .command('rotate-signing-key')
  .description('let a new key sign the access tokens; nobody is signed out')
  .option('--revoke', 'refuse the tokens of former keys immediately; clients refresh theirs')
  .action(async ({ revoke = false }) =>
    (await import('./commands/service.ts')).rotateSigningKey(revoke),
  )
;(await import('./commands/backup.ts')).addBackupCommands(
  program.command('backup').description('backups'),
)
const selfHealing = program
  .command('self-healing')
  .description('the faults that the service finds in itself')
;(await import('./commands/self-healing.ts')).addSelfHealingCommands(selfHealing)
;(await import('./commands/keys.ts')).addKeysCommands(
  program.command('keys').description('the keys that seal the data'),
)
program
  .command('admin')
  .description('superadmins, when no other can help')
  .command('reset <email>')
  .description('give a superadmin a password for one sign-in, and unblock the account')
  .option('--second-factor', 'take the second factor away too')
  .action(async (email: string, { secondFactor = false }) =>
    (await import('./commands/service.ts')).resetOperator(email, secondFactor),
  )
program
  .command('outbound')
  .description('what goes out by itself: mails, webhooks, messages')
  .command('release')
  .description('let it go out, once the service that the restored backup is of has gone')
  .action(async () => (await import('./commands/service.ts')).releaseOutbound())

try {
  await program.parseAsync()
} catch (error) {
  fail(error)
}

function fail(error: unknown): void {
  process.stderr.write(`${inWords(error)}\n`)
  process.exit(1)
}

function inWords(error: unknown): string {
  if (error instanceof StartupError) return error.lines.join('\n')
  // No fault of the command: it comes again behind the restore.
  if (error instanceof Problem && error.code === 'restoring')
    return 'A restore is under way, and nothing else may write; try again when it is over.'
  return error instanceof Error ? String(error.stack) : String(error)
}
