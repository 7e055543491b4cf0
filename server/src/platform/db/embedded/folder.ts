/** Prepares the data folder: makes it, and lets the server's account pass through it without reading it. */
import { access, chmod, constants, mkdir, realpath, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { StartupError } from '../../../lib/startup-error.ts'
import { type Account, permitted, serverAccount } from './account.ts'

/** The data folder, ready for the server. */
export interface DataFolder {
  /** its real path, free of symbolic links */
  readonly path: string
  readonly pgdata: string
  readonly serverLog: string
  /** who runs the server; undefined: the service's own account */
  readonly account: Account | undefined
}

/** Makes the folder where it is missing and returns its real path; it must be writable. */
export async function openFolder(dataDir: string): Promise<string> {
  const wanted = resolve(dataDir)
  const first = await mkdir(wanted, { recursive: true, mode: 0o700 })
  // Folders made on the way to it belong to nobody else yet: passable, whatever the umask.
  if (first !== undefined) {
    for (let each = dirname(wanted); each.length >= first.length; each = dirname(each))
      await chmod(each, 0o711)
  }
  const path = await realpath(wanted)
  if (!(await stat(path)).isDirectory())
    throw new StartupError(`The data folder ${path} is not a folder: set DATA_DIR to one.`)
  await access(path, constants.W_OK | constants.X_OK)
  return path
}

/** Chooses the server's account and sees to it that it gets as far as the folder. */
export async function prepareFolder(path: string): Promise<DataFolder> {
  const pgdata = join(path, 'postgres')
  const account = await serverAccount(pgdata)
  if (account) {
    const { mode } = await stat(path)
    if ((mode & 0o001) === 0) await chmod(path, (mode & 0o777) | 0o011)
    if (!permitted(account, 'x', [path])) throw unreachable(path, account)
  }
  return { path, pgdata, serverLog: join(path, 'postgres.log'), account }
}

function unreachable(path: string, account: Account): StartupError {
  let wall = path
  for (let each = dirname(path); each !== dirname(each); each = dirname(each)) {
    if (!permitted(account, 'x', [each])) wall = each
  }
  return new StartupError(
    `The data folder ${path} is inside ${wall}, which the account "${account.name}" (the one that runs PostgreSQL, as it refuses root) may not enter: set DATA_DIR to a folder outside of it, such as /var/lib/wardkeep.`,
  )
}
