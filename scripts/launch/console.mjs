/** Builds the console when its sources have changed since the last build. */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import path from 'node:path'
import { exclusively } from './exclusive.mjs'
import { runQuietly } from './run-quietly.mjs'

/** The files that determine the build. The console imports only types from the client. */
const sources = [
  'console/index.html',
  'console/package.json',
  'console/public',
  'console/src',
  'console/vite.config.ts',
  'package-lock.json',
  'scripts/build-console.mjs',
]

/** The file in a build that holds the stamp of its sources. */
export const stampFile = '.built-from'

/** Returns a hash over the names and contents of the sources. */
export function consoleStamp(root) {
  const hash = createHash('sha256')
  for (const file of sources.flatMap((source) => filesBelow(root, source))) {
    const content = readFileSync(path.join(root, file))
    hash.update(`${file}\n${content.length}\n`).update(content)
  }
  return hash.digest('hex')
}

/** Returns true if `console/dist` was built from the current sources. */
export function isConsoleBuilt(root) {
  const stamp = path.join(root, 'console/dist', stampFile)
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === consoleStamp(root)
}

/**
 * Builds the console unless the build is current. Launchers that run at the same time build it once.
 * After a failure no build is left, so that the service does not serve an outdated console.
 * @returns the reason for a failed build, or undefined
 * @throws LaunchError when a signal stopped the build
 */
export async function prepareConsole(root, { node, env, started, say }) {
  if (isConsoleBuilt(root)) return undefined
  const runtime = path.join(root, '.runtime')
  mkdirSync(runtime, { recursive: true })
  return exclusively(path.join(runtime, 'console-claim'), {
    say,
    work: async () => {
      if (isConsoleBuilt(root)) return undefined
      const done = started('Building the console …')
      const args = ['scripts/build-console.mjs']
      const { outcome, output } = await runQuietly({ node, args, cwd: root, env })
      if (outcome === 0) {
        done()
        return undefined
      }
      // Another launcher may have finished the build in the meantime.
      if (isConsoleBuilt(root)) return undefined
      rmSync(path.join(root, 'console/dist'), { recursive: true, force: true })
      return gistOf(output) || `The build ended with ${outcome}.`
    },
  })
}

/** Returns the files of a source in a fixed order, as paths with `/` from the root. */
function filesBelow(root, source) {
  const found = statSync(path.join(root, source), { throwIfNoEntry: false })
  if (!found) return []
  if (!found.isDirectory()) return [source]
  return readdirSync(path.join(root, source))
    .sort()
    .flatMap((name) => filesBelow(root, `${source}/${name}`))
}

/** Returns the first lines of the output that are not stack frames. They name the cause. */
function gistOf(output) {
  const lines = output.split('\n').filter((line) => line.trim() !== '' && !/^\s+at /.test(line))
  return lines.slice(0, 8).join('\n')
}
