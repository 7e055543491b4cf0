/** Runs a program that ends with the service, even if the service is killed with SIGKILL. */
import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process'
import type { SystemAccount } from './account.ts'

export interface Supervised {
  readonly child: ChildProcess
  /** Resolves when the program has ended. Never rejects. */
  readonly ended: Promise<ServerExit>
  /** Requests a clean shutdown. `ended` resolves when it is complete. */
  stop(): void
}

export interface ServerExit {
  readonly code: number
  readonly how: string
}

// The shell is the parent of the program and waits for its end, so that the watcher never signals a reused pid. The
// shells ignore signals to the process group or to the whole service (Ctrl-C, systemd), and react only to the end of
// the pipe. The watcher repeats SIGINT every second, in case the program could not yet handle the first signal. After
// half a minute, it sends SIGQUIT, which makes PostgreSQL shut down immediately and recover at the next start.
const SUPERVISOR = `
trap '' HUP INT TERM
exec 3<&0
"$@" 3<&- &
p=$!
{
  read _
  n=0 s=INT
  while kill -$s $p 2>/dev/null; do
    sleep 1
    n=$((n+1))
    if [ $n -ge 30 ]; then s=QUIT; fi
  done
} <&3 3<&- >/dev/null 2>&1 &
w=$!
wait $p
s=$?
kill -KILL $w 2>/dev/null
exit $s
`

/** Starts the program under a supervisor, which stops the program when its standard input is closed. */
export function supervise(
  command: readonly [string, ...string[]],
  options: { account: SystemAccount | undefined; output: 'pipe' | number },
): Supervised {
  const posix = process.platform !== 'win32'
  const stdio: StdioOptions = ['pipe', options.output, options.output]
  const [program, ...args] = posix
    ? (['/bin/sh', '-c', SUPERVISOR, 'sh', ...command] as const)
    : command
  const child = spawn(program, args, {
    // Uses another working folder, because the account may not be permitted to enter the service's current folder.
    cwd: '/',
    stdio,
    // Starts a separate session, so that Ctrl-C in the service's terminal does not reach the server first.
    detached: posix,
    windowsHide: true,
    // Passes no environment of the service. It contains secrets, and PG… variables that would affect the server.
    ...(posix ? { env: { PATH: '/usr/bin:/bin', LC_ALL: 'C.UTF-8', TZ: 'UTC' } } : {}),
    ...(options.account ? { uid: options.account.uid, gid: options.account.gid } : {}),
  })
  // Ignores errors, because nothing is written to the pipe. An error means that the other end was closed first.
  child.stdin?.on('error', () => undefined)
  const ended = new Promise<ServerExit>((resolve) => {
    child.once('error', (error) => resolve({ code: -1, how: error.message }))
    child.once('close', (code, signal) =>
      resolve({ code: code ?? -1, how: signal ? `signal ${signal}` : `status ${code}` }),
    )
  })
  return { child, ended, stop: () => void child.stdin?.end() }
}
