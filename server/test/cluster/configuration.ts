/** The configuration files of the cluster's programs. */
import path from 'node:path'

/** The location of a PostgreSQL server under Patroni. */
export interface MemberPlace {
  name: string
  folder: string
  postgresPort: number
  restPort: number
}

/** The ports and folders of all programs, on the loopback address. */
export interface Topology {
  members: readonly MemberPlace[]
  etcdPort: number
  etcdPeerPort: number
  /** A port that forwards to the primary. HAProxy closes connections to a server that it marks as down. */
  primaryPort: number
  /** A port that forwards to the primary. HAProxy keeps connections to a server that it marks as down. */
  keepingPort: number
  pgbouncerPort: number
}

/** The database role that owns the service's tables. */
export const OWNER = 'wardkeep'
/** The database of the service. */
export const DATABASE = 'wardkeep'
/** The name under which PgBouncer offers the database of the service with transaction pooling. */
export const TRANSACTION_DATABASE = 'wardkeep_transaction'
/** The database to which the harness writes its heartbeat. */
export const BEAT_DATABASE = 'beat'

const LOOPBACK = '127.0.0.1'

/**
 * The configuration of a Patroni member. It is JSON, which YAML includes.
 * The times are the shortest that Patroni accepts, so that a run takes minutes.
 */
export function patroniConfiguration(
  member: MemberPlace,
  { etcdPort }: Topology,
  { etcd, bin }: { etcd: 2 | 3; bin: string },
): string {
  return JSON.stringify(
    {
      scope: 'wardkeep',
      name: member.name,
      restapi: listensOn(member.restPort),
      [etcd === 3 ? 'etcd3' : 'etcd']: { hosts: `${LOOPBACK}:${etcdPort}` },
      bootstrap: {
        dcs: {
          ttl: 20,
          loop_wait: 2,
          retry_timeout: 4,
          synchronous_mode: true,
          failsafe_mode: true,
          postgresql: {
            use_pg_rewind: true,
            parameters: { max_connections: 250, shared_buffers: '64MB', wal_keep_size: '256MB' },
          },
        },
        initdb: [{ encoding: 'UTF8' }, { locale: 'C.UTF-8' }],
        pg_hba: [
          'local all all trust',
          `host all all ${LOOPBACK}/32 trust`,
          `host replication all ${LOOPBACK}/32 trust`,
        ],
      },
      postgresql: {
        ...listensOn(member.postgresPort),
        data_dir: path.join(member.folder, 'data'),
        bin_dir: bin,
        // A new standby does not wait for the leader's next checkpoint.
        basebackup: [{ checkpoint: 'fast' }],
        pgpass: path.join(member.folder, 'pgpass'),
        authentication: {
          superuser: { username: 'postgres' },
          replication: { username: 'replicator' },
        },
        parameters: {
          unix_socket_directories: member.folder,
          // In the data folder, so that a killed server leaves nothing elsewhere.
          dynamic_shared_memory_type: 'mmap',
        },
      },
    },
    null,
    2,
  )
}

const listensOn = (port: number) => ({
  listen: `${LOOPBACK}:${port}`,
  connect_address: `${LOOPBACK}:${port}`,
})

/** The configuration of HAProxy. Its two ports lead to the primary, which HAProxy finds with Patroni's REST API. */
export function haproxyConfiguration({ members, primaryPort, keepingPort }: Topology): string {
  const section = (name: string, port: number, onDown: string) =>
    [
      `listen ${name}`,
      `  bind ${LOOPBACK}:${port}`,
      '  option httpchk OPTIONS /primary',
      '  http-check expect status 200',
      `  default-server inter 1s fall 2 rise 1${onDown}`,
      ...members.map(
        ({ name: server, postgresPort, restPort }) =>
          `  server ${server} ${LOOPBACK}:${postgresPort} check port ${restPort}`,
      ),
    ].join('\n')
  return `global
  maxconn 1000

defaults
  mode tcp
  timeout connect 2s
  timeout check 1s
  timeout client 30m
  timeout server 30m

${section('primary', primaryPort, ' on-marked-down shutdown-sessions')}

${section('keeping', keepingPort, '')}
`
}

/**
 * The configuration of PgBouncer in session mode, in front of HAProxy. After a failed login PgBouncer waits for
 * `server_login_retry`, which is 15 s by default.
 */
export function pgbouncerConfiguration(topology: Topology, folder: string): string {
  return `[databases]
${DATABASE} = host=${LOOPBACK} port=${topology.primaryPort}
${TRANSACTION_DATABASE} = host=${LOOPBACK} port=${topology.primaryPort} dbname=${DATABASE} pool_mode=transaction

[pgbouncer]
listen_addr = ${LOOPBACK}
listen_port = ${topology.pgbouncerPort}
unix_socket_dir =
auth_type = trust
auth_file = ${path.join(folder, 'pgbouncer.users')}
pool_mode = session
default_pool_size = 120
server_login_retry = 1
max_client_conn = 400
`
}
