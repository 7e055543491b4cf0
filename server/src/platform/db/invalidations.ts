/**
 * Stores the topics that a transaction invalidates as rows, in the same commit (decision 0037). Each node reads the
 * rows committed since its last snapshot.
 */
import pg from 'pg'
import type { Topic } from './topics.ts'

/** The maximum number of topics per heartbeat. A node with more topics to read drops its whole cache instead. */
const MAX_TOPICS = 10_000

/** The topic that replaces deleted rows. A node that reads it has missed rows, and drops its whole cache. */
export const DELETED: Topic = 'unread'
/** The topics that invalidate all cached values. */
const EVERYTHING: ReadonlySet<Topic> = new Set<Topic>(['restored', DELETED])

/** Returns the SQL that records the topics and returns the id of the transaction. Topics must not contain spaces. */
export const recordTopics = (topics: Iterable<Topic>): string =>
  `insert into invalidations (topics) values (${pg.escapeLiteral([...topics].join(' '))}) returning xid::text`

/** Returns a query for the topics committed after a snapshot, as "id topic". @param snapshot SQL; null finds nothing */
export const findTopicsSince = (snapshot: string): string => `
  select xid::text || ' ' || topic from (
    select xid, topics from invalidations where xid >= pg_snapshot_xmax(${snapshot}::pg_snapshot)
    union all
    -- Transactions that ran when the earlier snapshot was taken. One of them may have run for hours, so the search
    -- looks for each number instead of reading all rows from the lowest one.
    select xid, topics from invalidations where xid = any(array(select pg_snapshot_xip(${snapshot}::pg_snapshot)))
  ) as recent, string_to_table(topics, ' ') as topic limit ${MAX_TOPICS + 1}`

/** Returns the topics to drop from caches, without duplicates. A null topic drops everything. */
export const readTopics = (topics: readonly Topic[]): readonly (Topic | null)[] =>
  topics.length > MAX_TOPICS || topics.some((topic) => EVERYTHING.has(topic))
    ? [null]
    : [...new Set(topics)]
