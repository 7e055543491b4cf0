/** Sends the first message of every connection, which applies the session settings and identifies the server. */
import type pg from 'pg'
import { ServerRefused } from './failures.ts'

/** Session settings by name. Each value must be spelled exactly as PostgreSQL shows it. */
export type SessionSettings = Readonly<Record<string, string>>

/** Identifies a running server. A promotion or a restart creates a new identity. */
export interface ServerIdentity {
  /** The identifier of the cluster; null if the role may not read it. */
  readonly systemId: string | null
  /** The timeline, which increases with each promotion. Empty on a standby. */
  readonly timeline: string
  /** The start of the server in seconds since the epoch, with microseconds. */
  readonly startedAt: string
}

export interface Introduction {
  readonly server: ServerIdentity
  /** The id of the server process. Behind a pooler, the driver knows a different id. */
  readonly pid: number
}

/** Returns whether two identities belong to the same running server. */
export const isSameServer = (one: ServerIdentity, other: ServerIdentity): boolean =>
  one.systemId === other.systemId &&
  one.timeline === other.timeline &&
  one.startedAt === other.startedAt

/** The SQL condition that the server cannot write, because it is a standby or its transactions are read-only. */
export const IS_READ_ONLY = `(pg_is_in_recovery() or current_setting('transaction_read_only') = 'on')`

/** Makes the server end a connection and release its locks after a minute of silence from this process. */
const KEEPALIVES: SessionSettings = {
  tcp_keepalives_idle: '30',
  tcp_keepalives_interval: '10',
  tcp_keepalives_count: '3',
}

/** SQLSTATE of a missing privilege. */
const DENIED = '42501'

/**
 * Applies the session settings and identifies the server. Uses SQL, because poolers refuse or ignore startup
 * parameters. @throws ServerRefused if the settings are not kept, or the server cannot write although it must
 */
export async function introduce(
  client: pg.Client,
  { settings, acceptsReadOnly = false }: { settings: SessionSettings; acceptsReadOnly?: boolean },
): Promise<Introduction> {
  const row = await send(client, settings)
  if (row.is_standby && !acceptsReadOnly)
    throw new ServerRefused('The database server is a standby, which cannot write.')
  if (row.is_read_only && !acceptsReadOnly)
    throw new ServerRefused(
      'The database server is read-only, because default_transaction_read_only is on.',
    )
  for (const [name, value] of Object.entries(settings))
    if (row[name] !== value)
      throw new ServerRefused(
        `The connection does not keep its settings: ${name} is ${row[name]} instead of ${value}.`,
      )
  const { system_id: systemId, timeline, started_at: startedAt, pid } = row
  return { server: { systemId, timeline, startedAt }, pid }
}

type Row = Record<string, unknown> & {
  is_standby: boolean
  is_read_only: boolean
  system_id: string | null
  timeline: string
  started_at: string
  pid: number
}

async function send(client: pg.Client, settings: SessionSettings): Promise<Row> {
  try {
    return await query(
      client,
      settings,
      '(select system_identifier::text from pg_control_system())',
    )
  } catch (error) {
    if ((error as { code?: string }).code !== DENIED) throw error
    return await query(client, settings, 'null')
  }
}

async function query(client: pg.Client, settings: SessionSettings, systemId: string): Promise<Row> {
  const applied = Object.entries({ ...settings, ...KEEPALIVES }).map(
    ([name, value]) => `set ${name} = '${value}'`,
  )
  // Does not check the keepalives, because the server shows them as 0 on a Unix socket.
  const kept = Object.keys(settings).map((name) => `current_setting('${name}') as ${name}`)
  // Only a primary has a timeline to which it writes. pg_control_checkpoint() is late after a promotion.
  const identity = `select pg_is_in_recovery() as is_standby,
    current_setting('transaction_read_only') = 'on' as is_read_only,
    ${systemId} as system_id,
    case when pg_is_in_recovery() then '' else left(pg_walfile_name(pg_current_wal_lsn()), 8) end as timeline,
    extract(epoch from pg_postmaster_start_time())::text as started_at,
    pg_backend_pid() as pid, ${kept.join(', ')}`
  const results: unknown = await client.query([...applied, identity].join('; '))
  return (results as pg.QueryResult<Row>[]).at(-1)?.rows[0] as Row
}
