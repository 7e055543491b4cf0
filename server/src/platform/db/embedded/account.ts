/** Chooses the account that the server runs as: PostgreSQL refuses root, so root lends it another. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { StartupError } from '../../../lib/startup-error.ts'

/** An account of this machine. */
export interface Account {
  readonly name: string
  readonly uid: number
  readonly gid: number
}

/**
 * The account to start the server as, or undefined for the service's own. A cluster that exists
 * stays with its owner, so that an account `postgres` made later doesn't lock anybody out.
 */
export async function serverAccount(pgdata: string): Promise<Account | undefined> {
  const own = process.getuid?.()
  if (own === undefined) return undefined
  const owner = await stat(pgdata).catch(() => undefined)
  if (own !== 0) {
    if (owner && owner.uid !== own) {
      throw new StartupError(
        `${pgdata} belongs to the account ${nameOf(owner.uid)}: start Wardkeep as that account or as root.`,
      )
    }
    return undefined
  }
  if (owner && owner.uid !== 0) return { name: nameOf(owner.uid), uid: owner.uid, gid: owner.gid }
  const account = chosen(readFileSync('/etc/passwd', 'utf8'))
  if (!account) {
    throw new StartupError(
      'PostgreSQL does not run as root, and there is no account "wardkeep", "postgres" or "nobody": make one, or start Wardkeep as an ordinary account.',
    )
  }
  if (owner) {
    throw new StartupError(
      `${pgdata} belongs to root, which PostgreSQL refuses: run "chown -R ${account.name} ${pgdata}".`,
    )
  }
  return account
}

/**
 * An account that is ours alone comes first: as `postgres`, another cluster's superusers could read
 * the folder. Accounts are never made by the service.
 */
export function chosen(passwd: string): Account | undefined {
  return ['wardkeep', 'postgres', 'nobody']
    .map((name) => find((each) => each.name === name, passwd))
    .find((account) => account !== undefined)
}

/** Whether the account may read (`r`) or pass and execute (`x`) every one of the paths; the kernel is asked, so ACLs count. */
export function permitted(account: Account, mode: 'r' | 'x', paths: readonly string[]): boolean {
  const script = `for each; do test -${mode} "$each" || exit 1; done`
  return (
    spawnSync('/bin/sh', ['-c', script, 'sh', ...paths], {
      cwd: '/',
      // Nothing of ours: whatever runs as the account can read the environment of its processes.
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
  wanted: (account: Account) => boolean,
  passwd = readFileSync('/etc/passwd', 'utf8'),
): Account | undefined {
  for (const line of passwd.split('\n')) {
    const [name, , uid, gid] = line.split(':')
    if (!name || uid === undefined || gid === undefined) continue
    const account = { name, uid: Number(uid), gid: Number(gid) }
    if (wanted(account)) return account
  }
  return undefined
}
