/** A separate PostgreSQL 15 with its own client programs, which the embedded one lacks. */
import { execFileSync, spawn } from 'node:child_process'
import { access, appendFile, chown, mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { freePort } from './service.ts'

const BIN = '/usr/lib/postgresql/15/bin'
/** The owner of the service's objects, with only the rights that docs/reference/configuration.md requires. */
const OWNER = 'ward'

/**
 * Settings for a server of that size, the same for all contenders: no index sorts on disk, and checkpoints do not
 * overlap.
 */
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
  /** Creates an empty database. Returns its URL for the service, which connects as the owner. */
  create(database: string): Promise<string>
  drop(database: string): Promise<void>
  /** Returns a superuser connection to a database, to seed rows. */
  superuserOf(database: string): pg.ClientConfig
  /**
   * Starts a standby that replicates through a port that leads to this server. Afterwards each commit waits until the
   * standby has written it to disk.
   */
  addSynchronousStandby(throughPort: number): Promise<void>
  /** Runs a checkpoint, so that no turn includes the writes of the previous one. */
  settle(): Promise<void>
  stop(): Promise<void>
}

/** @throws Error that names the Debian package of a missing program */
export async function requirePrograms(): Promise<void> {
  for (const [path, name] of [
    [join(BIN, 'pg_restore'), 'postgresql-15'],
    ['/usr/bin/zstd', 'zstd'],
  ] as const)
    await access(path).catch(() => {
      throw new Error(`${path} is missing: install the Debian package ${name}`)
    })
}

/** Returns the path of one of PostgreSQL's programs. */
export const program = (name: 'pg_dump' | 'pg_restore'): string => join(BIN, name)

/** @param folder created for the cluster, and deleted when it stops */
export async function openCluster(folder: string): Promise<Cluster> {
  await mkdir(folder, { mode: 0o700 })
  const isRoot = process.getuid?.() === 0
  if (isRoot) {
    const id = (kind: string) => Number(execFileSync('id', [kind, 'postgres']))
    await chown(folder, id('-u'), id('-g'))
  }
  // A server refuses to run as root.
  const run = (name: string, args: string[]) => {
    const command = [join(BIN, name), ...args]
    const [file = '', ...rest] = isRoot ? ['runuser', '-u', 'postgres', '--', ...command] : command
    execFileSync(file, rest, { cwd: '/', stdio: ['ignore', 'ignore', 'inherit'] })
  }
  const started: string[] = []
  const start = (data: string, settings: Record<string, string>) => {
    const given = Object.entries(settings).map(([name, value]) => `-c ${name}=${value}`)
    run('pg_ctl', ['-D', data, '-l', `${data}.log`, '-w', '-o', given.join(' '), 'start'])
    started.push(data)
  }
  const end = (mode: string) => {
    // Stops standbys first, because a primary waits for them when it stops.
    for (const data of started.toReversed()) run('pg_ctl', ['-D', data, '-m', mode, 'stop'])
  }
  // Stops the server if the bench is interrupted.
  const cutOff = () => end('immediate')
  process.once('exit', cutOff)
  const settingsAt = (port: number) => ({
    ...SETTINGS,
    port: String(port),
    unix_socket_directories: folder,
  })
  const data = join(folder, 'data')
  const port = await freePort()
  run('initdb', ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C.UTF-8'])
  start(data, settingsAt(port))

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
    async addSynchronousStandby(throughPort) {
      const standby = join(folder, 'standby')
      const source = `host=127.0.0.1 port=${throughPort} user=postgres application_name=standby`
      // Copies over a direct connection, because a proxy in this process blocks while a program runs.
      run('pg_basebackup', ['-h', folder, '-p', `${port}`, '-U', 'postgres', '-D', standby, '-R'])
      await appendFile(join(standby, 'postgresql.auto.conf'), `primary_conninfo = '${source}'\n`)
      start(standby, settingsAt(await freePort()))
      await ask("alter system set synchronous_standby_names = 'standby'", 'select pg_reload_conf()')
      // Returns after the standby has confirmed the commit.
      await ask('create table waits_for_the_standby ()')
    },
    settle: () => ask('checkpoint'),
    async stop() {
      process.off('exit', cutOff)
      end('fast')
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Runs programs until they end. Returns the seconds they took. @throws Error when a program fails */
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
