/** Chooses the server's address: a Unix socket in a private folder, or on Windows a loopback port with a password. */
import { randomBytes } from 'node:crypto'
import {
  chmod,
  chown,
  lstat,
  mkdir,
  mkdtemp,
  readFile,
  realpath,
  rm,
  writeFile,
} from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { StartupError } from '../../lib/startup-error.ts'
import type { DataFolder } from './folder.ts'

/** The server's address, the credentials for its clients, and its files. */
export interface Endpoint {
  readonly host: string
  readonly port: number
  readonly password?: string
  readonly passwordFile?: string
  /** Server settings that make it listen on this address only. */
  readonly settings: Readonly<Record<string, string>>
  /** Removes the socket file of a server that no longer runs. */
  clear(): Promise<void>
  /** Removes a temporary socket folder, after the server has stopped. */
  dispose(): Promise<void>
}

export type Door = Pick<Endpoint, 'host' | 'port' | 'password'>

// The port is only a part of the socket file's name. The path of a socket may have 103 bytes on macOS and 107 on Linux.
export const PORT = 5432
const SOCKET = `.s.PGSQL.${PORT}`
const LONGEST = 103

/** Chooses the server's address and creates the socket folder or the password file. */
export function openEndpoint(folder: DataFolder): Promise<Endpoint> {
  return process.platform === 'win32' ? loopback(folder) : unixSocket(folder)
}

/** Returns the socket folder of a server that another process runs on the data folder. Returns undefined on Windows. */
export async function socketOf(dataDir: string): Promise<string | undefined> {
  if (process.platform === 'win32') return undefined
  const path = await realpath(dataDir)
  const inside = join(path, 'run')
  if (Buffer.byteLength(join(inside, SOCKET)) <= LONGEST) return inside
  return (await readFile(join(path, 'run-elsewhere'), 'utf8')).trim()
}

async function unixSocket(folder: DataFolder): Promise<Endpoint> {
  const inside = join(folder.path, 'run')
  const record = join(folder.path, 'run-elsewhere')
  const short = Buffer.byteLength(join(inside, SOCKET)) <= LONGEST
  const host = short ? await privateFolder(inside, folder) : await shortFolder(record, folder)
  return {
    host,
    port: PORT,
    settings: {
      listen_addresses: '',
      unix_socket_directories: `"${host.replaceAll('"', '""')}"`,
      unix_socket_permissions: '0700',
      port: String(PORT),
    },
    async clear() {
      await rm(join(host, SOCKET), { force: true })
      await rm(join(host, `${SOCKET}.lock`), { force: true })
    },
    async dispose() {
      if (short) return
      await rm(host, { recursive: true, force: true })
      await rm(record, { force: true })
    },
  }
}

/** Creates a folder that only its owner and root can enter. The socket inside uses `trust`. */
async function privateFolder(path: string, { account }: DataFolder): Promise<string> {
  await mkdir(path, { recursive: true, mode: 0o700 })
  if (account) await chown(path, account.uid, account.gid)
  await chmod(path, 0o700)
  return path
}

/** Creates a private folder with a short path, which `record` keeps for the next start. */
async function shortFolder(record: string, folder: DataFolder): Promise<string> {
  const noted = (await readFile(record, 'utf8').catch(() => '')).trim()
  if (noted !== '' && (await isOurs(noted, folder))) return noted
  // Uses /tmp for root, because root's TMPDIR may be inaccessible to the server's account.
  const base = folder.account ? '/tmp' : tmpdir()
  const path = await mkdtemp(join(base, 'wardkeep-'))
  if (Buffer.byteLength(join(path, SOCKET)) > LONGEST) {
    await rm(path, { recursive: true })
    throw new StartupError(
      `The paths of the data folder ${folder.path} and of ${base} are both too long for a Unix socket. Set DATA_DIR or TMPDIR to a shorter path.`,
    )
  }
  await writeFile(record, path, { mode: 0o600 })
  return privateFolder(path, folder)
}

async function isOurs(path: string, { account }: DataFolder): Promise<boolean> {
  const found = await lstat(path).catch(() => undefined)
  return (
    found?.isDirectory() === true &&
    found.uid === (account?.uid ?? process.getuid?.()) &&
    (found.mode & 0o077) === 0
  )
}

async function loopback(folder: DataFolder): Promise<Endpoint> {
  const path = join(folder.path, 'postgres.password')
  const kept = await readFile(path, 'utf8').catch(() => '')
  const password = kept || randomBytes(24).toString('base64url')
  if (kept === '') await writeFile(path, password, { mode: 0o600 })
  const port = await freePort()
  return {
    host: '127.0.0.1',
    port,
    password,
    passwordFile: path,
    settings: { listen_addresses: '127.0.0.1', unix_socket_directories: '', port: String(port) },
    clear: async () => undefined,
    dispose: async () => undefined,
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() =>
        typeof address === 'object' && address
          ? resolve(address.port)
          : reject(new Error('no free port')),
      )
    })
  })
}
