/** A PostgreSQL 15 of the bench's own, beside its own client programs: the embedded one has none. */
import { execFileSync, spawn } from 'node:child_process'
import { access, chown, mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { freePort } from './service.ts'

const BIN = '/usr/lib/postgresql/15/bin'
/** Owns what the service makes, and may no more than docs/configuration.md asks for. */
const OWNER = 'ward'

/** As on a server of that size, for all who use it: no index is sorted on the disk, no checkpoint crowds another. */
const SETTINGS: Record<string, string> = {
  max_connections: '100',
  shared_buffers: '512MB',
  maintenance_work_mem: '128MB',
  max_wal_size: '8GB',
  checkpoint_timeout: '15min',
  listen_addresses: '127.0.0.1',
}

export interface Cluster {
  port: number
  /** Makes an empty database. Returns the URL by which the service, as its owner, gets there. */
  create(database: string): Promise<string>
  drop(database: string): Promise<void>
  /** A database as who is past every rule, in which rows are seeded. */
  superuserOf(database: string): pg.ClientConfig
  /** Writes what is dirty now, so that no turn pays for the one before it. */
  settle(): Promise<void>
  stop(): Promise<void>
}

/** @throws Error that names the Debian package of a program that is missing */
export async function requirePrograms(): Promise<void> {
  for (const [path, name] of [
    [join(BIN, 'pg_restore'), 'postgresql-15'],
    ['/usr/bin/zstd', 'zstd'],
  ] as const)
    await access(path).catch(() => {
      throw new Error(`${path} is missing: install the Debian package ${name}`)
    })
}

/** The path of one of PostgreSQL's programs. */
export const program = (name: 'pg_dump' | 'pg_restore'): string => join(BIN, name)

/** @param folder made for it, and deleted when it stops */
export async function openCluster(folder: string): Promise<Cluster> {
  await mkdir(folder, { mode: 0o700 })
  const isRoot = process.getuid?.() === 0
  if (isRoot) {
    const id = (kind: string) => Number(execFileSync('id', [kind, 'postgres']))
    await chown(folder, id('-u'), id('-g'))
  }
  // A server refuses to be root's.
  const run = (name: string, args: string[]) => {
    const command = [join(BIN, name), ...args]
    const [file = '', ...rest] = isRoot ? ['runuser', '-u', 'postgres', '--', ...command] : command
    execFileSync(file, rest, { cwd: '/', stdio: ['ignore', 'ignore', 'inherit'] })
  }
  const data = join(folder, 'data')
  const port = await freePort()
  run('initdb', ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C.UTF-8'])
  const settings = { ...SETTINGS, port: String(port), unix_socket_directories: folder }
  const given = Object.entries(settings).map(([name, value]) => `-c ${name}=${value}`)
  run('pg_ctl', ['-D', data, '-l', join(folder, 'log'), '-w', '-o', given.join(' '), 'start'])
  const end = (mode: string) => run('pg_ctl', ['-D', data, '-m', mode, 'stop'])
  // A bench that is cut off leaves no server behind.
  const cutOff = () => end('immediate')
  process.once('exit', cutOff)

  const superuserOf = (database: string): pg.ClientConfig => ({
    host: '127.0.0.1',
    port,
    user: 'postgres',
    database,
  })
  async function ask(...statements: string[]): Promise<void> {
    const client = new pg.Client(superuserOf('postgres'))
    await client.connect()
    for (const statement of statements) await client.query(statement)
    await client.end()
  }
  await ask(`create role ${OWNER} login createrole`)

  return {
    port,
    async create(database) {
      await ask(`create database ${database} owner ${OWNER}`)
      return `postgres://${OWNER}@127.0.0.1:${port}/${database}`
    },
    drop: (database) => ask(`drop database ${database} with (force)`),
    superuserOf,
    settle: () => ask('checkpoint'),
    async stop() {
      process.off('exit', cutOff)
      end('fast')
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Runs programs to their end. Returns the seconds that they took. @throws Error when one fails */
export function timed(
  file: string,
  args: readonly string[],
  env: Record<string, string | undefined> = {},
): Promise<number> {
  const begun = performance.now()
  return new Promise((resolve, reject) => {
    let said = ''
    const child = spawn(file, args, {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { PATH: process.env.PATH, ...env },
    })
    child.stderr.on('data', (chunk: Buffer) => {
      said = (said + chunk).slice(-10_000)
    })
    child.once('error', reject)
    child.once('close', (code) =>
      code === 0
        ? resolve((performance.now() - begun) / 1000)
        : reject(new Error(`${file} ${args.join(' ')} ended with ${code}:\n${said}`)),
    )
  })
}
