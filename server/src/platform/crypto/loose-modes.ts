/** Checks that files with secrets are not accessible to every account on the machine. */
import { stat } from 'node:fs/promises'
import { StartupError } from '../../lib/startup-error.ts'
import type { Logger } from '../observe/log.ts'

/** The read and write permissions of other accounts. Their execute permission on a folder is harmless. */
const OTHERS = 0o006

/**
 * Warns about files that every account can read or write. Skips missing files. Allows group read access, because
 * containers pass secrets in this way. @param isStrict true to throw a StartupError instead
 */
export async function refuseLooseModes(
  paths: Record<string, string | undefined>,
  isStrict: boolean,
  log: Logger,
): Promise<void> {
  if (process.platform === 'win32') return
  const faults: string[] = []
  for (const [variable, path] of Object.entries(paths)) {
    const found = path === undefined ? undefined : await stat(path).catch(() => undefined)
    if (found && (found.mode & OTHERS) !== 0)
      faults.push(
        `${variable}: every account on this machine can read or write ${path}. Run "chmod o-rw ${path}".`,
      )
  }
  if (isStrict && faults.length > 0) throw new StartupError(...faults)
  for (const fault of faults) log.warn({}, fault)
}
