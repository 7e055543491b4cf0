/** Ensures that the data folder contains a complete database cluster of the right major version. */
import {
  access,
  chmod,
  chown,
  mkdtemp,
  open,
  readdir,
  readFile,
  rename,
  rm,
} from 'node:fs/promises'
import { join } from 'node:path'
import { StartupError } from '../../lib/startup-error.ts'
import type { Binaries } from './binaries.ts'
import type { Endpoint } from './endpoint.ts'
import type { DataFolder } from './folder.ts'
import type { EmbeddedLog } from './log.ts'
import { lastComplaint, startupErrorIn } from './reasons.ts'
import { supervise } from './supervise.ts'

/** The database superuser that owns the service's database. */
export const OWNER = 'wardkeep_owner'

const DRAFT = 'postgres.draft-'

interface ClusterContext {
  readonly folder: DataFolder
  readonly binaries: Binaries
  readonly endpoint: Endpoint
  readonly log: EmbeddedLog
}

/** Creates the cluster if it is missing. @throws StartupError if the existing cluster has another major version */
export async function prepareCluster(context: ClusterContext): Promise<void> {
  const { folder, binaries } = context
  await clearDrafts(folder)
  const version = await readFile(join(folder.pgdata, 'PG_VERSION'), 'utf8').then(
    (text) => text.trim(),
    absent,
  )
  if (version === undefined) return makeCluster(context)
  if (Number(version) === binaries.major) return
  throw new StartupError(
    `The database in ${folder.pgdata} was created with PostgreSQL ${version}, but this release of Wardkeep uses PostgreSQL ${binaries.major}.`,
    'To upgrade, start the previous release of Wardkeep on this folder and create a backup. Then restore that backup with this release into a new DATA_DIR.',
  )
}

/** Returns whether a data folder contains a cluster of any version. Does not create the folder. */
export async function hasCluster(dataDir: string): Promise<boolean> {
  return access(join(dataDir, 'postgres', 'PG_VERSION')).then(
    () => true,
    // Treats an inaccessible cluster as existing. Opening it later reports the reason.
    (error: NodeJS.ErrnoException) => error.code !== 'ENOENT',
  )
}

function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}

/** Deletes incomplete clusters left by a crash during initdb. The folder's lock ensures that no process uses them. */
async function clearDrafts(folder: DataFolder): Promise<void> {
  for (const name of await readdir(folder.path)) {
    if (name.startsWith(DRAFT))
      await rm(join(folder.path, name), { recursive: true, force: true, maxRetries: 5 })
  }
}

/** Creates the cluster under a temporary name and renames it, so that `postgres` is always complete and on disk. */
async function makeCluster({ folder, binaries, endpoint, log }: ClusterContext): Promise<void> {
  const found = await readdir(folder.pgdata).catch(() => [])
  if (found.length > 0) {
    throw new StartupError(
      `${folder.pgdata} exists, but is not a PostgreSQL database. Move it away, or set DATA_DIR to another folder.`,
    )
  }
  log.info({ folder: folder.pgdata }, 'database is being created')
  const draft = await mkdtemp(join(folder.path, DRAFT))
  try {
    await chmod(draft, 0o700)
    if (folder.account) await chown(draft, folder.account.uid, folder.account.gid)
    const access =
      endpoint.passwordFile === undefined
        ? ['-A', 'trust']
        : ['-A', 'scram-sha-256', '--pwfile', endpoint.passwordFile]
    await run(
      [
        binaries.initdb,
        '-D',
        draft,
        '-U',
        OWNER,
        '-E',
        'UTF8',
        '--locale=C.UTF-8',
        '--no-sync',
        '--no-instructions',
        ...access,
      ],
      folder,
    )
    // Syncs the finished files in one pass instead of one by one.
    await run([binaries.initdb, '--sync-only', '-D', draft], folder)
    await rm(folder.pgdata, { recursive: true, force: true })
    await rename(draft, folder.pgdata)
    await syncFolder(folder.path)
  } catch (error) {
    await rm(draft, { recursive: true, force: true, maxRetries: 5 })
    throw error
  }
}

async function run(command: [string, ...string[]], folder: DataFolder): Promise<void> {
  const { child, ended } = supervise(command, { account: folder.account, output: 'pipe' })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  const { code, how } = await ended
  if (code === 0) return
  throw (
    startupErrorIn(output, folder.path) ??
    new StartupError(`PostgreSQL's initdb failed with ${how}: ${lastComplaint(output)}`)
  )
}

/** Flushes a folder to disk. A rename in the folder is durable only afterwards. */
async function syncFolder(path: string): Promise<void> {
  if (process.platform === 'win32') return
  const folder = await open(path)
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
