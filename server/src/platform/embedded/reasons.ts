/** Converts file system errors and the output of PostgreSQL's programs into error messages for the operator. */
import { StartupError } from '../../lib/startup-error.ts'

const REASONS: readonly (readonly [RegExp, (folder: string) => string])[] = [
  [
    /ENOSPC|No space left on device/,
    (f) => `The disk of the data folder ${f} is full. Free some space, then start again.`,
  ],
  [
    /EDQUOT|Disk quota exceeded/,
    (f) =>
      `The disk quota of the data folder ${f} is used up. Raise it or free some space, then start again.`,
  ],
  [
    /EROFS|Read-only file system/,
    (f) =>
      `The data folder ${f} is on a read-only file system. Mount it writable, or set DATA_DIR to another folder.`,
  ],
  [
    /ENOTDIR|EEXIST|Not a directory/,
    (f) =>
      `The data folder ${f} cannot be created, because a file with this name exists. Move that file away, or set DATA_DIR to another folder.`,
  ],
  [
    /EACCES|EPERM|Permission denied|Operation not permitted/,
    (f) =>
      `The account that runs Wardkeep cannot write to the data folder ${f}. Make that account its owner (chown), or set DATA_DIR to another folder.`,
  ],
  [
    /ENAMETOOLONG|File name too long/,
    (f) => `The path of the data folder ${f} is too long. Set DATA_DIR to a shorter path.`,
  ],
]

/** Returns the error that a program's output reports. Returns undefined if the operator cannot repair the cause. */
export function startupErrorIn(text: string, folder: string): StartupError | undefined {
  const reason = REASONS.find(([pattern]) => pattern.test(text))
  return reason && new StartupError(reason[1](folder))
}

/** Converts file system errors to StartupErrors. Returns other errors unchanged. */
export function asStartupError(error: unknown, folder: string): unknown {
  if (error instanceof StartupError || !(error instanceof Error)) return error
  const { code } = error as NodeJS.ErrnoException
  return (code !== undefined && startupErrorIn(code, folder)) || error
}

/** Returns why PostgreSQL stopped: the last error in its output, without the severity. */
export function lastComplaint(output: string): string {
  const lines = output
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
  const line =
    lines.findLast((each) => /\b(FATAL|PANIC|error):/i.test(each)) ??
    lines.at(-1) ??
    'it reported no reason'
  return line.replace(/^.*?\b(?:FATAL|PANIC|error):\s*/i, '')
}
