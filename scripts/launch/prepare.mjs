/** Installs a recent Node and the dependencies in the lock file, unless both are installed. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import path from 'node:path'
import { prepareConsole } from './console.mjs'
import { exclusively } from './exclusive.mjs'
import { fetchNode } from './fetch-node.mjs'
import { LaunchError } from './launch-error.mjs'
import { npmCli, runNpm } from './npm.mjs'
import { isInstalledAsLocked, nodeToFetch, oldestNode, stampOf } from './plan.mjs'

const { platform, arch, execPath } = process
const say = (line) => console.error(line)

/** Installs what is missing. Returns the path of the `node` that runs everything. */
export async function prepare(root) {
  const runtime = path.join(root, '.runtime')
  const fetch = nodeToFetch({ version: process.versions.node, platform, arch })
  if (fetch?.missing) {
    throw new LaunchError(
      `This needs Node ${oldestNode} or newer, this is ${process.version}, and there is none to fetch for ${fetch.missing}: install it from nodejs.org.`,
    )
  }
  const home = path.join(runtime, fetch?.release ?? '')
  const node = fetch ? path.join(home, fetch.binary) : execPath
  const isReady = () => existsSync(node) && isInstalled(root)
  if (isReady()) return node
  try {
    mkdirSync(runtime, { recursive: true })
    await exclusively(path.join(runtime, 'claim'), {
      say,
      work: async () => {
        const npm = npmCli()
        if (!existsSync(node)) await fetchNewerNode({ npm, home, fetch })
        if (!isInstalled(root)) await install({ npm, node, root })
      },
    })
  } catch (error) {
    if (error instanceof LaunchError) throw error
    throw new LaunchError(`Setting up failed in ${root}: ${error.message}`)
  }
  return node
}

/** Returns the environment for a program run by `node`. The `node` in its PATH is the same one. */
export function environmentFor(node) {
  const own = path.dirname(node) + path.delimiter
  const key = Object.keys(process.env).find((name) => name.toUpperCase() === 'PATH') ?? 'PATH'
  const before = process.env[key] ?? ''
  const PATH = before.startsWith(own) ? before : own + before
  // One thread per processor for password hashes, and one for files.
  const threads = String(Math.max(4, availableParallelism() + 1))
  return {
    UV_THREADPOOL_SIZE: threads,
    ...process.env,
    [key]: PATH,
    NODE: node,
    npm_node_execpath: node,
  }
}

/**
 * Builds the console if its sources have changed. Reports a failed build, but continues, because only the console needs
 * it.
 */
export async function buildConsole(root, node) {
  try {
    const failure = await prepareConsole(root, { node, env: environmentFor(node), started, say })
    if (failure)
      say(`${failure}\nThe console could not be built. Everything else starts without it.`)
  } catch (error) {
    if (error instanceof LaunchError) throw error
    say(`The console could not be built: ${error.message}. Everything else starts without it.`)
  }
}

/** Installs the dependencies in a folder's lock file, unless they are installed. */
export async function installDependencies(folder, node) {
  if (!isInstalled(folder)) await install({ npm: npmCli(), node, root: folder })
}

async function fetchNewerNode({ npm, home, fetch }) {
  const done = started(
    `Node ${process.version} is too old; fetching ${fetch.name}@${fetch.release} …`,
  )
  await fetchNode({ npm, home, ...fetch })
  done()
}

async function install({ npm, node, root }) {
  const done = started('Installing the dependencies (npm ci) …')
  await runNpm({
    npm,
    node,
    cwd: root,
    args: ['ci', '--include=dev', '--include=optional', '--ignore-scripts'],
    env: environmentFor(node),
    failure: 'Installing the dependencies failed.',
  })
  writeFileSync(stampFile(root), stampOf({ lock: lockOf(root), platform, arch }))
  done()
}

/**
 * Returns whether the install is finished. `npm ci` empties node_modules first, so a stamp in it marks a finished
 * install. A tree installed by npm directly has no stamp or an old one, and gets one if it matches the lock file.
 */
function isInstalled(root) {
  const lock = lockOf(root)
  const stamp = stampOf({ lock, platform, arch })
  if (readIfThere(stampFile(root)) === stamp) return true
  const installed = readIfThere(path.join(root, 'node_modules/.package-lock.json'))
  if (installed === undefined) return false
  if (!isInstalledAsLocked({ lock, installed, platform, arch })) return false
  writeFileSync(stampFile(root), stamp)
  return true
}

const stampFile = (root) => path.join(root, 'node_modules/.installed-from')
const lockOf = (root) => readFileSync(path.join(root, 'package-lock.json'), 'utf8')
const readIfThere = (file) => (existsSync(file) ? readFileSync(file, 'utf8') : undefined)

function started(line) {
  const since = Date.now()
  say(line)
  return () => say(`… done in ${((Date.now() - since) / 1000).toFixed(1)} s`)
}
