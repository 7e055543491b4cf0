/** PgBouncer in front of a test's server, if the machine has the program. */
import { spawn, spawnSync } from 'node:child_process'
import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { atTheEnd } from './cleanup.ts'
import { query } from './embedded.ts'
import { freePort } from './process.ts'
import { isRoot } from './processes.ts'
import { scratch } from './scratch.ts'
import type { TcpSwitch } from './tcp-switch.ts'
import { NOBODY } from './unprivileged-account.ts'
import { until } from './until.ts'

/** The program, if installed. Debian installs it in a folder that only root has in its PATH. */
const PROGRAM = ['pgbouncer', '/usr/sbin/pgbouncer'].find(
  (program) => spawnSync(program, ['--version']).status === 0,
)
export const hasPgBouncer = PROGRAM !== undefined

/**
 * Starts PgBouncer with the given pool mode. All other settings are those of the package. Returns the URL of the
 * database through PgBouncer.
 */
export async function startPgBouncer(
  server: TcpSwitch,
  mode: 'session' | 'transaction',
): Promise<string> {
  const folder = await scratch()
  const port = await freePort()
  const { username, pathname } = new URL(server.url)
  const users = join(folder, 'users.txt')
  const file = join(folder, 'pgbouncer.ini')
  await writeFile(users, `"${username}" ""\n`)
  await writeFile(
    file,
    `[databases]
* = host=127.0.0.1 port=${server.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${users}
pool_mode = ${mode}
`,
  )
  for (const path of [users, file]) await chmod(path, 0o644)
  const child = spawn(PROGRAM ?? '', [file], {
    stdio: 'ignore',
    cwd: '/',
    ...(isRoot ? NOBODY : {}),
  })
  const ended = new Promise((resolve) => child.once('close', resolve))
  atTheEnd(async () => {
    child.kill('SIGKILL')
    await ended
  })
  const address = { host: '127.0.0.1', port, user: username, database: pathname.slice(1) }
  await until('PgBouncer answers', () => query(address, 'select 1'))
  return `postgres://${username}@127.0.0.1:${port}${pathname}`
}
