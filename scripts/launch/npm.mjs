/** Finds npm and runs it quietly. Its output is shown when it fails. */
import { existsSync, realpathSync } from 'node:fs'
import path from 'node:path'
import { LaunchError } from './launch-error.mjs'
import { adviceFor } from './plan.mjs'
import { runQuietly } from './run-quietly.mjs'

/**
 * Returns the path of npm's JavaScript: of the npm that called us, else the one next to this node, else the one in
 * PATH.
 */
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

export async function runNpm({ npm, node, cwd, args, env, failure }) {
  const quiet = ['--no-audit', '--no-fund', '--no-update-notifier', '--loglevel=error']
  const patience = ['--fetch-retry-mintimeout=2000', '--fetch-retry-maxtimeout=10000']
  const npmArgs = [npm, ...args, ...quiet, ...patience]
  const { outcome, output } = await runQuietly({ node, args: npmArgs, cwd, env })
  if (outcome !== 0) {
    throw new LaunchError(`${gistOf(output)}\n${failure} ${adviceFor(output)}`)
  }
}

/** Returns the first lines of the output, which name the cause. Omits stack frames and the path of npm's log. */
function gistOf(output) {
  const lines = output.split('\n').filter((line) => !/^npm \w+\s*$|^npm \w+ +at /.test(line))
  return lines.slice(0, 8).join('\n')
}
