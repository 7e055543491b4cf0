/** Reads heartbeats: the new invalidations and the tenants in maintenance mode. */
import type pg from 'pg'
import { ServerRefused } from './failures.ts'
import { IS_READ_ONLY } from './first-message.ts'
import { findTopicsSince, readTopics } from './invalidations.ts'
import { FIND_MAINTENANCE } from './maintenance.ts'
import type { Topic } from './topics.ts'

/** The interval between heartbeats. A heartbeat that is older than this no longer proves that caches are current. */
export const HEARTBEAT_MS = 300
export const TRUST_MS = 900

export interface Heartbeat {
  /** The database snapshot of this heartbeat. The next heartbeat reads the topics committed after it. */
  snapshot: string
  /** The topics that other nodes invalidated since the previous heartbeat. A null topic invalidates everything. */
  topics: readonly (Topic | null)[]
  maintenance: ReadonlySet<number>
}

// A single statement reads the rows and the snapshot, so that no commit can happen between them.
const HEARTBEAT = `select pg_current_snapshot()::text as snapshot, ${IS_READ_ONLY} as is_read_only,
  array(${FIND_MAINTENANCE}) as maintenance, array(${findTopicsSince('$1')}) as topics`

type Row = { snapshot: string; is_read_only: boolean; maintenance: number[]; topics: string[] }

/**
 * Reads a heartbeat. @param since the previous snapshot on this connection; without it, no topics are read @param own
 * transactions whose topics this node has already handled @throws ServerRefused if the server cannot write
 */
export async function readHeartbeat(
  connection: pg.Client,
  since: string | undefined,
  own: ReadonlySet<string> = new Set(),
): Promise<Heartbeat> {
  const { rows } = await connection.query<Row>(HEARTBEAT, [since])
  const [row] = rows
  if (!row || row.is_read_only) throw new ServerRefused('The database server has become read-only.')
  const topics = row.topics.flatMap((line) => {
    const [xid = '', topic = ''] = line.split(' ')
    return own.has(xid) ? [] : [topic as Topic]
  })
  return {
    snapshot: row.snapshot,
    topics: readTopics(topics),
    maintenance: new Set(row.maintenance),
  }
}
