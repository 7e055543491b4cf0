/** Creates the data folder. Permits the server's account to enter the folder, but not to list its files. */
import { access, chmod, constants, mkdir, realpath, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { StartupError } from '../../lib/startup-error.ts'
import { permitted, type SystemAccount, serverAccount } from './account.ts'

export interface DataFolder {
  /** The absolute path of the folder, with symbolic links resolved. */
  readonly path: string
  readonly pgdata: string
  readonly serverLog: string
  /** The account that runs the server; undefined for the service's own account. */
  readonly account: SystemAccount | undefined
}

/** Creates the folder if it is missing, and returns its real path. @throws if the folder is not writable */
export async function openFolder(dataDir: string): Promise<string> {
  const wanted = resolve(dataDir)
  const first = await mkdir(wanted, { recursive: true, mode: 0o700 })
  // Permits all accounts to enter the parent folders that were just created, regardless of the umask.
  if (first !== undefined) {
    for (let each = dirname(wanted); each.length >= first.length; each = dirname(each))
      await chmod(each, 0o711)
  }
  const path = await realpath(wanted)
  if (!(await stat(path)).isDirectory())
    throw new StartupError(`The data folder ${path} is not a folder. Set DATA_DIR to a folder.`)
  await access(path, constants.W_OK | constants.X_OK)
  return path
}

/** Chooses the server's account and permits it to enter the folder. @throws StartupError if it cannot */
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

function unreachable(path: string, account: SystemAccount): StartupError {
  let wall = path
  for (let each = dirname(path); each !== dirname(each); each = dirname(each)) {
    if (!permitted(account, 'x', [each])) wall = each
  }
  return new StartupError(
    `The data folder ${path} is inside ${wall}, which the account "${account.name}" that runs PostgreSQL cannot access. Set DATA_DIR to a folder outside of it, such as /var/lib/wardkeep.`,
  )
}
