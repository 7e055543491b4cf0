/** Chooses the account of the server, because PostgreSQL refuses to run as root. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { StartupError } from '../../lib/startup-error.ts'

export interface SystemAccount {
  readonly name: string
  readonly uid: number
  readonly gid: number
}

/**
 * Returns the account for the server, or undefined for the service's own. An existing cluster keeps its owner, even if
 * an account `postgres` is created later. @throws StartupError if no account can run the server
 */
export async function serverAccount(pgdata: string): Promise<SystemAccount | undefined> {
  const own = process.getuid?.()
  if (own === undefined) return undefined
  const owner = await stat(pgdata).catch(() => undefined)
  if (own !== 0) {
    if (owner && owner.uid !== own) {
      throw new StartupError(
        `${pgdata} belongs to the account ${nameOf(owner.uid)}. Start Wardkeep as that account or as root.`,
      )
    }
    return undefined
  }
  if (owner && owner.uid !== 0) return { name: nameOf(owner.uid), uid: owner.uid, gid: owner.gid }
  const account = chosen(readFileSync('/etc/passwd', 'utf8'))
  if (!account) {
    throw new StartupError(
      'PostgreSQL does not run as root, and no account "wardkeep", "postgres" or "nobody" exists. Create one, or start Wardkeep as an ordinary account.',
    )
  }
  if (owner) {
    throw new StartupError(
      `${pgdata} belongs to root, which PostgreSQL does not allow. Run "chown -R ${account.name} ${pgdata}".`,
    )
  }
  return account
}

/**
 * Returns the preferred account of the passwd file: a dedicated one, because superusers of another cluster could read a
 * folder of `postgres`. The service never creates accounts.
 */
export function chosen(passwd: string): SystemAccount | undefined {
  return ['wardkeep', 'postgres', 'nobody']
    .map((name) => find((each) => each.name === name, passwd))
    .find((account) => account !== undefined)
}

/** Returns whether the account may read (`r`) or enter (`x`) all paths. Runs `test` as it, to respect access lists. */
export function permitted(
  account: SystemAccount,
  mode: 'r' | 'x',
  paths: readonly string[],
): boolean {
  const script = `for each; do test -${mode} "$each" || exit 1; done`
  return (
    spawnSync('/bin/sh', ['-c', script, 'sh', ...paths], {
      cwd: '/',
      // Passes no environment of the service, because other processes of the account can read it.
      env: { PATH: '/usr/bin:/bin' },
      uid: account.uid,
      gid: account.gid,
      stdio: 'ignore',
    }).status === 0
  )
}

function nameOf(uid: number): string {
  return find((each) => each.uid === uid)?.name ?? `uid ${uid}`
}

function find(
  wanted: (account: SystemAccount) => boolean,
  passwd = readFileSync('/etc/passwd', 'utf8'),
): SystemAccount | undefined {
  for (const line of passwd.split('\n')) {
    const [name, , uid, gid] = line.split(':')
    if (!name || uid === undefined || gid === undefined) continue
    const account = { name, uid: Number(uid), gid: Number(gid) }
    if (wanted(account)) return account
  }
  return undefined
}
