/** Finds npm and runs it quietly; what it said is shown when it fails. */
import { spawn } from 'node:child_process'
import { existsSync, realpathSync } from 'node:fs'
import path from 'node:path'
import { LaunchError } from './launch-error.mjs'
import { adviceFor } from './plan.mjs'

/** npm's JavaScript: the one that called us, else beside this node, else the one in the PATH. */
export function npmCli() {
  const beside = path.dirname(process.execPath)
  const places = [
    process.env.npm_execpath,
    path.join(beside, '../lib/node_modules/npm/bin/npm-cli.js'),
    path.join(beside, 'node_modules/npm/bin/npm-cli.js'),
    ...(process.env.PATH ?? '').split(path.delimiter).map((folder) => path.join(folder, 'npm')),
  ]
  const isCli = (place) => path.basename(place) === 'npm-cli.js'
  for (const place of places) {
    const real = place && existsSync(place) ? realpathSync(place) : ''
    if (isCli(real)) return real
  }
  throw new LaunchError(
    'npm was not found: install it together with Node (nodejs.org), or run this as `npm start`.',
  )
}

const stops = ['SIGINT', 'SIGTERM']

export async function runNpm({ npm, node, cwd, args, env, failure }) {
  const quiet = ['--no-audit', '--no-fund', '--no-update-notifier', '--loglevel=error']
  const patience = ['--fetch-retry-mintimeout=2000', '--fetch-retry-maxtimeout=10000']
  const child = spawn(node, [npm, ...args, ...quiet, ...patience], {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output += text
    })
  }
  // The claim on the work tree is given back only when npm is gone as well.
  let stopped = false
  const stop = (signal) => {
    stopped = true
    child.kill(signal)
  }
  for (const signal of stops) process.on(signal, stop)
  const outcome = await new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('close', (code, signal) => resolve(code ?? signal))
  })
  for (const signal of stops) process.off(signal, stop)
  if (stopped) throw new LaunchError('Stopped while setting up; run this again to go on.')
  if (outcome !== 0) {
    throw new LaunchError(`${gistOf(output)}\n${failure} ${adviceFor(output)}`)
  }
}

/** The first lines name the cause; what follows are stack frames and the place of npm's log. */
function gistOf(output) {
  const lines = output.split('\n').filter((line) => !/^npm \w+\s*$|^npm \w+ +at /.test(line))
  return lines.slice(0, 8).join('\n')
}
