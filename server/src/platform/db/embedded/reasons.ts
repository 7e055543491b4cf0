/** Turns errors of the file system and the output of PostgreSQL's programs into sentences for the operator. */
import { StartupError } from '../../../lib/startup-error.ts'

const REASONS: readonly (readonly [RegExp, (folder: string) => string])[] = [
  [
    /ENOSPC|No space left on device/,
    (f) => `The disk of the data folder ${f} is full: free some space on it, then start again.`,
  ],
  [
    /EDQUOT|Disk quota exceeded/,
    (f) =>
      `The disk quota of the data folder ${f} is used up: raise it or free some space, then start again.`,
  ],
  [
    /EROFS|Read-only file system/,
    (f) =>
      `The data folder ${f} is on a read-only file system: mount it writable, or set DATA_DIR to another folder.`,
  ],
  [
    /ENOTDIR|EEXIST|Not a directory/,
    (f) =>
      `The data folder ${f} can't be made, because a file is in its place: move that file away, or set DATA_DIR to another folder.`,
  ],
  [
    /EACCES|EPERM|Permission denied|Operation not permitted/,
    (f) =>
      `The data folder ${f} can't be written by the account that runs Wardkeep: give it to that account (chown), or set DATA_DIR to another folder.`,
  ],
  [
    /ENAMETOOLONG|File name too long/,
    (f) => `The path of the data folder ${f} is too long: set DATA_DIR to a shorter one.`,
  ],
]

/** The error behind a program's output, when it is one the operator can name and repair. */
export function startupErrorIn(text: string, folder: string): StartupError | undefined {
  const reason = REASONS.find(([pattern]) => pattern.test(text))
  return reason && new StartupError(reason[1](folder))
}

/** An error of the file system as a StartupError; everything else as it is. */
export function asStartupError(error: unknown, folder: string): unknown {
  if (error instanceof StartupError || !(error instanceof Error)) return error
  const { code } = error as NodeJS.ErrnoException
  return (code !== undefined && startupErrorIn(code, folder)) || error
}

/** PostgreSQL's own words for why it stopped: the last line that says so. */
export function lastComplaint(output: string): string {
  const lines = output
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
  const line =
    lines.findLast((each) => /\b(FATAL|PANIC|error):/i.test(each)) ??
    lines.at(-1) ??
    'it gave no reason'
  return line.replace(/^.*?\b(?:FATAL|PANIC|error):\s*/i, '')
}
