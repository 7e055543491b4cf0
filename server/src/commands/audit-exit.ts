/** The exit status and the errors of the `wardkeep audit` commands. */
import { Uncheckable } from '../features/audit/offline/index.ts'
import { asSentence, Problem } from '../lib/problems.ts'
import { StartupError } from '../lib/startup-error.ts'

export const ALTERED = 1
export const NOT_CHECKED = 2

/** Runs a command. Any error becomes a sentence on stderr and the exit status 2, because 1 means an altered log. */
export async function orNotChecked(work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    process.exitCode = NOT_CHECKED
    process.stderr.write(`${sentenceOf(error)}\n`)
  }
}

function sentenceOf(error: unknown): string {
  if (error instanceof Uncheckable) return error.message
  if (error instanceof StartupError) return error.lines.join('\n')
  if (error instanceof Problem) return asSentence(error)
  const { code, path, message } = error as NodeJS.ErrnoException
  if (path !== undefined && code !== undefined) return `${path}: ${REASONS[code] ?? code}.`
  return `The audit log could not be checked: ${message}.`
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'The file or folder does not exist',
  EACCES: 'The file or folder cannot be opened with the permissions of this account',
  EISDIR: 'It is a folder, but a file is needed',
  ENOTDIR: 'A part of the path is a file, not a folder',
  ENOSPC: 'The disk is full',
}
