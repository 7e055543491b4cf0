#!/usr/bin/env node
import { enableCompileCache } from 'node:module'
import { Problem } from './lib/problems.ts'
import { StartupError } from './lib/startup-error.ts'

enableCompileCache()
// An unhandled rejection is a fault of the program. Prints the error and ends the process.
process.on('unhandledRejection', fail)
// Ignores errors. Work continues even if its progress cannot be written, for example on a full disk.
process.stderr.on('error', () => undefined)

const { openProgram } = await import('./commands/program.ts')

try {
  await openProgram().parseAsync()
} catch (error) {
  fail(error)
}

function fail(error: unknown): void {
  process.stderr.write(`${inWords(error)}\n`)
  process.exit(1)
}

function inWords(error: unknown): string {
  if (error instanceof StartupError) return error.lines.join('\n')
  // Prints no stack trace, because the command itself is not faulty. It can be repeated after the restore.
  if (error instanceof Problem && error.code === 'restoring')
    return 'A restore is running, so no other command may write. Try again when it has ended.'
  return error instanceof Error ? String(error.stack) : String(error)
}
