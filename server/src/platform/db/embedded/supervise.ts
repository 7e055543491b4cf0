/** Runs a program so that it ends with the service, even when the service is killed with -9. */
import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process'
import type { Account } from './account.ts'

/** A program that runs under the supervisor. */
export interface Supervised {
  readonly child: ChildProcess
  /** how it ended, in words; it never rejects */
  readonly ended: Promise<Ending>
  /** asks for a clean end; `ended` tells when it has come */
  stop(): void
}

/** How a supervised program ended: 0 is well. */
export interface Ending {
  readonly code: number
  readonly how: string
}

// The shell is the program's parent and reaps it, so its pid can't be reused under the watcher.
// Signals to the group or the whole service (Ctrl-C, systemd) are not for these shells: the pipe is.
// SIGINT comes again each second, for a program that was too young to hear the first one, and
// becomes SIGQUIT (PostgreSQL: immediate shutdown, recovered at the next start) after half a minute.
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

/** Starts the program with its output where `output` says; its input is the supervisor's. */
export function supervise(
  command: readonly [string, ...string[]],
  options: { account: Account | undefined; output: 'pipe' | number },
): Supervised {
  const posix = process.platform !== 'win32'
  const stdio: StdioOptions = ['pipe', options.output, options.output]
  const [program, ...args] = posix
    ? (['/bin/sh', '-c', SUPERVISOR, 'sh', ...command] as const)
    : command
  const child = spawn(program, args, {
    // Not the service's folder, which the account may be unable to enter.
    cwd: '/',
    stdio,
    // A session of its own: Ctrl-C in the service's terminal must not reach the server first.
    detached: posix,
    windowsHide: true,
    // None of the service's environment: it holds secrets, and PG… variables would change the server.
    ...(posix ? { env: { PATH: '/usr/bin:/bin', LC_ALL: 'C.UTF-8', TZ: 'UTC' } } : {}),
    ...(options.account ? { uid: options.account.uid, gid: options.account.gid } : {}),
  })
  // The pipe is only ever closed; an error on it means that the other end went first.
  child.stdin?.on('error', () => undefined)
  const ended = new Promise<Ending>((resolve) => {
    child.once('error', (error) => resolve({ code: -1, how: error.message }))
    child.once('close', (code, signal) =>
      resolve({ code: code ?? -1, how: signal ? `signal ${signal}` : `status ${code}` }),
    )
  })
  return { child, ended, stop: () => void child.stdin?.end() }
}
