/** The programs of a cluster, their paths, and the Debian packages that contain them. */
import { accessSync, constants } from 'node:fs'
import path from 'node:path'

const POSTGRES_BIN = '/usr/lib/postgresql/15/bin'

const PACKAGES = {
  patroni: 'patroni',
  patronictl: 'patroni',
  etcd: 'etcd-server',
  haproxy: 'haproxy',
  pgbouncer: 'pgbouncer',
  postgres: 'postgresql-15',
} as const

/** The paths of the programs. */
export type Programs = Readonly<Record<keyof typeof PACKAGES, string>>

/**
 * Finds the programs on the search path, and PostgreSQL in Debian's folder.
 * @throws Error that names the missing Debian packages
 */
export function findPrograms(
  searchPath: string,
  isExecutable: (file: string) => boolean = executable,
): Programs {
  const folders = [...searchPath.split(':'), '/usr/sbin', '/sbin', POSTGRES_BIN]
  const found: Record<string, string> = {}
  const missing = new Set<string>()
  for (const [name, debianPackage] of Object.entries(PACKAGES)) {
    const candidates = (name === 'postgres' ? [POSTGRES_BIN] : folders).map((at) =>
      path.join(at, name),
    )
    const file = candidates.find(isExecutable)
    if (file === undefined) missing.add(debianPackage)
    else found[name] = file
  }
  if (missing.size > 0)
    throw new Error(
      `Programs are missing. Install the Debian packages: apt-get install ${[...missing].join(' ')}.`,
    )
  return found as Programs
}

/**
 * Returns a warning about a version of Patroni whose leader resumes its leadership after a freeze, which loses
 * acknowledged writes.
 * @param version the output of `patroni --version`
 * @see https://github.com/patroni/patroni/pull/2689
 */
export function patroniWarning(version: string, etcd: 2 | 3): string | undefined {
  const [major = 0, minor = 0, patch = 0] = (/(\d+)\.(\d+)\.(\d+)/.exec(version) ?? [])
    .slice(1)
    .map(Number)
  const isFixed = major > 3 || (major === 3 && (minor > 0 || patch >= 3))
  if (isFixed || etcd === 2) return undefined
  return `Patroni ${major}.${minor}.${patch} may lose acknowledged writes after a freeze. Use 3.0.3 or newer, or --etcd 2.`
}

function executable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
