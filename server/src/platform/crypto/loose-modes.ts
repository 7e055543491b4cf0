/** Sees to it that what holds secrets is not open to every account of the machine. */
import { stat } from 'node:fs/promises'
import { StartupError } from '../../lib/startup-error.ts'
import type { Logger } from '../observe/log.ts'

/** Reading and writing by others; passing through a folder is no harm. */
const OTHERS = 0o006

/**
 * What is not there yet will be made with the right mode. A group may read: that is how containers
 * hand secrets over.
 * @param isStrict throws a StartupError where a warning would do otherwise
 */
export async function refuseLooseModes(
  paths: Record<string, string | undefined>,
  isStrict: boolean,
  log: Logger,
): Promise<void> {
  // Windows has no such modes.
  if (process.platform === 'win32') return
  const faults: string[] = []
  for (const [variable, path] of Object.entries(paths)) {
    const found = path === undefined ? undefined : await stat(path).catch(() => undefined)
    if (found && (found.mode & OTHERS) !== 0)
      faults.push(
        `${variable}: every account of this machine may read or write ${path}; run "chmod o-rw ${path}".`,
      )
  }
  if (isStrict && faults.length > 0) throw new StartupError(...faults)
  for (const fault of faults) log.warn({}, fault)
}
