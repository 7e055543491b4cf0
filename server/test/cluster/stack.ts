/** The whole cluster in a temporary folder: etcd, three Patroni members, HAProxy and PgBouncer. */
import { writeFileSync } from 'node:fs'
import { chmod, chown, rm } from 'node:fs/promises'
import path from 'node:path'
import pg from 'pg'
import { clusterFolder } from '../support/folders.ts'
import { processesOn } from '../support/processes.ts'
import { until } from '../support/until.ts'
import {
  BEAT_DATABASE,
  DATABASE,
  haproxyConfiguration,
  OWNER,
  patroniConfiguration,
  pgbouncerConfiguration,
  type Topology,
  TRANSACTION_DATABASE,
} from './configuration.ts'
import { leaderOf, type Member, openMember, switchOver, untilWhole } from './members.ts'
import { freePorts } from './ports.ts'
import {
  type Account,
  makeFolder,
  type RunningProgram,
  signalProcess,
  startProgram,
  unprivilegedAccount,
} from './processes.ts'
import type { Programs } from './programs.ts'

/** A path by which the nodes connect to the primary. */
export type Way = 'haproxy' | 'haproxy-keeping' | 'pgbouncer' | 'pgbouncer-transaction'

/** A running cluster. */
export interface Stack {
  readonly folder: string
  readonly members: readonly Member[]
  /** Returns the address for the nodes. */
  urlOf(way: Way): string
  /** The address for the heartbeat of the harness, through HAProxy. */
  readonly beatUrl: string
  leader(): Promise<Member>
  switchOver(): Promise<void>
  untilWhole(): Promise<void>
  killEtcd(): Promise<void>
  startEtcd(): void
  freezeHaproxy(): void
  thawHaproxy(): void
  /** Runs a query as superuser on a member, bypassing the proxies. */
  query<T>(member: Member, sql: string, values?: unknown[]): Promise<T[]>
}

const address = (port: number, database: string) =>
  `postgres://${OWNER}@127.0.0.1:${port}/${database}`

async function layOut(folder: string): Promise<Topology> {
  const [etcdPort, etcdPeerPort, primaryPort, keepingPort, pgbouncerPort, ...others] =
    (await freePorts(11)) as [number, number, number, number, number, ...number[]]
  const members = ['one', 'two', 'three'].map((name, index) => ({
    name,
    folder: path.join(folder, name),
    postgresPort: others[2 * index] ?? 0,
    restPort: others[2 * index + 1] ?? 0,
  }))
  return { members, etcdPort, etcdPeerPort, primaryPort, keepingPort, pgbouncerPort }
}

function writeConfigurations(
  folder: string,
  topology: Topology,
  account: Account | undefined,
  options: { etcd: 2 | 3; bin: string },
): void {
  const write = (at: string, name: string, text: string) =>
    writeFileSync(path.join(at, name), text, { mode: 0o644 })
  for (const member of topology.members) {
    makeFolder(member.folder, account)
    write(member.folder, 'patroni.yml', patroniConfiguration(member, topology, options))
  }
  write(folder, 'haproxy.cfg', haproxyConfiguration(topology))
  write(folder, 'pgbouncer.ini', pgbouncerConfiguration(topology, folder))
  write(folder, 'pgbouncer.users', `"${OWNER}" ""\n`)
}

function etcdArguments({ etcdPort, etcdPeerPort }: Topology, folder: string): string[] {
  const client = `http://127.0.0.1:${etcdPort}`
  const peer = `http://127.0.0.1:${etcdPeerPort}`
  return [
    ...['--name', 'etcd', '--data-dir', path.join(folder, 'etcd'), '--enable-v2'],
    ...['--listen-client-urls', client, '--advertise-client-urls', client],
    ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer],
    ...['--initial-cluster', `etcd=${peer}`],
  ]
}

async function query<T>(member: Member, sql: string, values: unknown[] = []): Promise<T[]> {
  const { postgresPort } = member.place
  return queryOn(`postgres://postgres@127.0.0.1:${postgresPort}/${DATABASE}`, sql, values)
}

async function queryOn<T>(url: string, sql: string, values: unknown[] = []): Promise<T[]> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: 5_000,
    query_timeout: 30_000,
  })
  // The query of a lost connection fails, so its error event is ignored.
  client.on('error', () => undefined)
  await client.connect()
  try {
    return (await client.query(sql, values)).rows as T[]
  } finally {
    await client.end().catch(() => undefined)
  }
}

/** Creates the databases of the service and of the heartbeat. */
async function createDatabases(leader: Member): Promise<void> {
  const server = `postgres://postgres@127.0.0.1:${leader.place.postgresPort}`
  await queryOn(`${server}/postgres`, `create role ${OWNER} login createrole`)
  for (const name of [DATABASE, BEAT_DATABASE])
    await queryOn(`${server}/postgres`, `create database ${name} owner ${OWNER}`)
  await queryOn(
    `${server}/${BEAT_DATABASE}`,
    `create table beats (at timestamptz);
    grant insert on beats to ${OWNER}`,
  )
}

/** Starts the cluster and waits until all members replicate. */
export async function openStack(
  programs: Programs,
  { etcd, keep }: { etcd: 2 | 3; keep: boolean },
  undo: AsyncDisposableStack,
): Promise<Stack> {
  const account = unprivilegedAccount()
  const folder = await clusterFolder('wardkeep-cluster-')
  if (account) await chown(folder, account.uid, account.gid)
  await chmod(folder, 0o711)
  const members: Member[] = []
  undo.defer(async () => {
    await Promise.all(members.map((member) => member.stop()))
    await endAll(folder)
    if (keep) console.log(`The logs are in ${folder}.`)
    else await rm(folder, { recursive: true, force: true })
  })
  const topology = await layOut(folder)
  writeConfigurations(folder, topology, account, { etcd, bin: path.dirname(programs.postgres) })
  const options = { account, cwd: folder }
  members.push(...topology.members.map((place) => openMember(place, programs, account)))
  let etcdProgram: RunningProgram | undefined
  const startEtcd = () => {
    const given = etcdArguments(topology, folder)
    etcdProgram = startProgram(programs.etcd, given, { ...options, log: 'etcd' })
  }
  startEtcd()
  const [first, ...others] = members
  first?.start()
  const leader = await leaderOf(members)
  for (const other of others) other.start()
  const haproxy = startProgram(programs.haproxy, ['-db', '-f', path.join(folder, 'haproxy.cfg')], {
    ...options,
    log: 'haproxy',
  })
  startProgram(programs.pgbouncer, [path.join(folder, 'pgbouncer.ini')], {
    ...options,
    log: 'pgbouncer',
  })
  await createDatabases(leader)
  await untilWhole(members)
  const beatUrl = address(topology.primaryPort, BEAT_DATABASE)
  await until('HAProxy leads to the primary', () => queryOn(beatUrl, 'select 1'))

  const urls: Record<Way, string> = {
    haproxy: address(topology.primaryPort, DATABASE),
    'haproxy-keeping': address(topology.keepingPort, DATABASE),
    pgbouncer: address(topology.pgbouncerPort, DATABASE),
    'pgbouncer-transaction': address(topology.pgbouncerPort, TRANSACTION_DATABASE),
  }
  return {
    folder,
    members,
    urlOf: (way) => urls[way],
    beatUrl,
    leader: () => leaderOf(members),
    switchOver: () => switchOver(members, programs),
    untilWhole: () => untilWhole(members),
    async killEtcd() {
      etcdProgram?.signal('SIGKILL')
      await etcdProgram?.ended
    },
    startEtcd,
    freezeHaproxy: () => haproxy.signal('SIGSTOP'),
    thawHaproxy: () => haproxy.signal('SIGCONT'),
    query,
  }
}

/** Ends every process that works in the folder. */
async function endAll(folder: string): Promise<void> {
  await until('no process is left', async () => {
    const left = await processesOn(folder)
    for (const pid of left) signalProcess(pid, 'SIGKILL')
    return left.length === 0 || undefined
  })
}
