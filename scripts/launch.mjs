/**
 * The launcher behind the scripts of `package.json`. Provides a recent Node, the dependencies and the console, then
 * runs the program of the verb and exits with its code. It stays alive until its child has ended, so that Ctrl-C and
 * SIGTERM stop the service gracefully. `kill -9` of the launcher cannot be forwarded: the child then continues, and has
 * to be stopped separately.
 */
import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { fileURLToPath } from 'node:url'
import { LaunchError } from './launch/launch-error.mjs'
import { buildConsole, environmentFor, prepare } from './launch/prepare.mjs'

const programs = {
  // A small young generation saves some 20 MB when idle, without slowing down responses.
  start: ['--max-semi-space-size=8', 'server/src/main.ts', 'start'],
  build: ['scripts/build-console.mjs'],
  test: ['node_modules/vitest/vitest.mjs', 'run'],
  chaos: ['scripts/chaos.mjs'],
  'chaos:cluster': ['server/test/cluster/run.ts'],
  'console:full': ['scripts/console-full.mjs'],
  check: ['scripts/check.mjs'],
  generate: ['scripts/generate.mjs'],
  bench: ['bench/run.ts'],
  docs: ['scripts/docs.mjs'],
  wardkeep: ['server/src/main.ts'],
}

const needConsole = ['start', 'test', 'console:full']

const root = fileURLToPath(new URL('..', import.meta.url))

async function launch([verb, ...rest]) {
  const program = Object.hasOwn(programs, verb ?? '') ? programs[verb] : undefined
  if (!program) throw new LaunchError(`Say what to run: ${Object.keys(programs).join(', ')}.`)
  const node = await prepare(root)
  if (needConsole.includes(verb)) await buildConsole(root, node)
  const child = spawn(node, [...program, ...rest], {
    cwd: root,
    env: environmentFor(node),
    stdio: 'inherit',
  })
  passOnSignals(child)
  stopWithNpm(child)
  child.once('error', (error) => end(`${node} can't be started: ${error.message}`))
  child.once('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]))
}

/**
 * Forwards signals. In a terminal Ctrl-C also reaches the child directly, and a second SIGINT would skip the graceful
 * stop.
 */
function passOnSignals(child) {
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  process.on('SIGINT', () => {
    if (!process.stdin.isTTY) child.kill('SIGINT')
  })
}

/**
 * Stops when npm is stopped. SIGTERM to npm silently ends the shell between npm and this process, so this process
 * detects that its parent has ended.
 */
function stopWithNpm(child) {
  if (!process.env.npm_lifecycle_event) return
  const parent = process.ppid
  const watch = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(watch)
    child.kill('SIGTERM')
  }, 250)
}

function end(message) {
  console.error(message)
  process.exit(1)
}

launch(process.argv.slice(2)).catch((error) =>
  end(error instanceof LaunchError ? error.message : error),
)
