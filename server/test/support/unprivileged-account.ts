/** The unprivileged user account, for tests that run as root and start a service without privileges. */
import { execFileSync, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { isRoot } from './processes.ts'

const idOf = (flag: string) =>
  isRoot ? Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' })) : 0

export const NOBODY = { uid: idOf('-u'), gid: idOf('-g') }

/** Returns whether the account can run this Node and read the code, which is false below `/root`. */
export function codeReachable(): boolean {
  const main = join(import.meta.dirname, '../../src/main.ts')
  const tried = spawnSync(process.execPath, [main, '--help'], { ...NOBODY, cwd: '/' })
  return tried.status === 0
}
