/** The account without rights, for tests that run as root and want a service that does not. */
import { execFileSync, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { isRoot } from './processes.ts'

const idOf = (flag: string) =>
  isRoot ? Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' })) : 0

export const NOBODY = { uid: idOf('-u'), gid: idOf('-g') }

/** Whether that account may run this Node and read the code; not so below `/root`, for example. */
export function codeReachable(): boolean {
  const main = join(import.meta.dirname, '../../src/main.ts')
  const tried = spawnSync(process.execPath, [main, '--help'], { ...NOBODY, cwd: '/' })
  return tried.status === 0
}
