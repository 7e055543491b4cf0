/**
 * Notifies every node of what has happened: at once this one, by LISTEN/NOTIFY the others. What a
 * commit invalidates goes with the commit, and a cache must not be trusted while `trusted()` is false.
 * That there is work goes after it, and ends with its process: whoever does the work looks by itself too.
 */
import type pg from 'pg'
import { poller } from '../../lib/poller.ts'
import type { Time } from '../../lib/time.ts'
import { canFail, canThrow } from '../observe/can-fail.ts'
import type { Logger } from '../observe/log.ts'
import { type DatabaseAddress, listenerClient } from './connection.ts'
import { withDeadline } from './deadline.ts'
import { LOCKS } from './lock-numbers.ts'
import { logFailures } from './log-failures.ts'
import type { Topic } from './topics.ts'

export const CHANNEL = 'wardkeep_changes'

/** In place of a tenant's id where all are closed. */
export const EVERY_TENANT = 0

/** The sign of life, and whom restores have closed the service for. */
const FIND_CLOSED = `select objid as tenant from pg_locks
  where locktype = 'advisory' and classid = ${LOCKS.closed} and objsubid = 2 and granted
    and database = (select oid from pg_database where datname = current_database())`

/** A sign of life is asked for this often, and one that is older than the limit is not believed. */
export const HEARTBEAT_MS = 300
export const TRUST_MS = 900
/** The least time between two NOTIFYs of this node; what comes meanwhile goes together. */
const APART_MS = 5

export interface Changes {
  /**
   * Calls `listener` for every topic, and with null when anything may have been missed. Returns how
   * to end it.
   */
  subscribe(listener: (topic: Topic | null) => void): () => void
  /** Tells this node what to drop from its caches; the others learn it from the NOTIFY of the commit. */
  invalidate(topics: Iterable<Topic>): void
  /**
   * Tells this node at once and the others within milliseconds that there is work; called after the
   * commit that made it. The others are not told if this process or the database ends meanwhile.
   */
  notify(topic: Topic): void
  /** Whether changes of other nodes are sure to have been heard up to less than a second ago. */
  trusted(): boolean
  /**
   * Whether a restore has closed the service for a tenant, or for all: known within a second, by a lock
   * of the connection that restores, so that it opens again when that dies. Null asks for all alone.
   */
  isClosed(tenantId: number | null): boolean
  stop(): Promise<void>
}

/** For a process that is alone on the database: nobody is told, and nobody else changes anything. */
export const alone: Changes = {
  subscribe: () => () => undefined,
  invalidate: () => undefined,
  notify: () => undefined,
  trusted: () => true,
  isClosed: () => false,
  stop: async () => undefined,
}

/** Starts listening, and keeps trying for as long as the database is away. */
export function watchChanges(address: DatabaseAddress, log: Logger, clock: Time): Changes {
  const listeners = new Set<(topic: Topic | null) => void>()
  const unsent = new Set<Topic>()
  let client: pg.Client | undefined
  let aliveAt = 0
  let stopped = false
  let closed: ReadonlySet<number> = new Set()

  const invalidate = (topics: Iterable<Topic | null>) => {
    for (const topic of topics)
      for (const listener of listeners)
        canThrow(() => listener(topic), `hearing of ${topic ?? 'what was missed'}`, log)
  }

  /** What others have committed; after a restore everything may be stale. */
  function hear(topics: readonly Topic[]): void {
    invalidate(topics.includes('restored') ? [null] : topics)
  }

  async function connect(): Promise<void> {
    const fresh = listenerClient(address)
    fresh.on('error', () => lose(fresh))
    fresh.on('end', () => lose(fresh))
    let ownPid: number | undefined
    let asked = 0
    fresh.on('notification', ({ payload, processId }) => {
      // This connection sends this node's own topics, which it has heard already.
      if (processId !== ownPid) hear((payload ?? '').split(' ') as Topic[])
    })
    try {
      await fresh.connect()
      // Asked for, as a pooler in between gives the driver a number of its own.
      const own = fresh.query<{ pid: number }>('select pg_backend_pid() as pid')
      ownPid = (await withDeadline(own, TRUST_MS)).rows[0]?.pid
      await withDeadline(fresh.query(`listen ${CHANNEL}`), TRUST_MS)
      asked = clock.monotonic()
      closed = await withDeadline(readClosed(fresh), TRUST_MS)
    } catch (error) {
      await canFail(fresh.end(), 'closing a listener that could not start', log)
      throw error
    }
    // What was committed while nobody listened is unknown: all that is cached may be stale.
    invalidate([null])
    client = fresh
    aliveAt = asked
    log.info({}, 'listening for changes of other nodes')
    sender.wake()
  }

  function notify(topic: Topic): void {
    invalidate([topic])
    unsent.add(topic)
    sender.wake()
  }

  /**
   * One NOTIFY for all topics that are unsent. In a transaction of its own: a NOTIFY in the request's
   * would make PostgreSQL commit all that have one in turns, under one lock for the whole server,
   * each with its wait for the disk.
   */
  async function sendTopics(): Promise<boolean> {
    // What is notified while nobody listens is the next listener's to tell.
    if (!client || unsent.size === 0) return false
    const topics = [...unsent]
    unsent.clear()
    const sent = client.query(
      'select pg_notify($1, topic) from unnest($2::text[]) as topics (topic)',
      [CHANNEL, topics],
    )
    try {
      await withDeadline(sent, TRUST_MS)
    } catch (error) {
      // Nobody knows whether they were heard; told twice they do no harm.
      for (const topic of topics) unsent.add(topic)
      throw error
    }
    return false
  }

  function lose(lost: pg.Client): void {
    if (client !== lost) return
    client = undefined
    if (!stopped) log.warn({}, 'lost the listener; cached state is read anew until it is back')
  }

  /** Connects, or asks for a sign of life. */
  async function beat(): Promise<boolean> {
    if (client) {
      const asked = clock.monotonic()
      // Notifications that were queued before the answer have arrived with it.
      closed = await withDeadline(readClosed(client), TRUST_MS)
      aliveAt = asked
      if (unsent.size > 0) sender.wake()
    } else await connect()
    return false
  }

  const sender = poller(sendTopics, {
    clock,
    pollMs: Number.POSITIVE_INFINITY,
    minGapMs: APART_MS,
    onError: logFailures('notifying other nodes', log),
  })
  const heartbeat = poller(beat, {
    clock,
    pollMs: HEARTBEAT_MS,
    onError() {
      const broken = client
      if (!broken) return
      lose(broken)
      void canFail(broken.end(), 'closing a silent listener', log)
    },
  })
  return {
    subscribe(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    invalidate: (topics) => hear([...topics]),
    notify,
    isClosed: (tenantId) => isAmong(closed, tenantId),
    trusted: () => client !== undefined && clock.monotonic() - aliveAt < TRUST_MS,
    async stop() {
      stopped = true
      // A reconnect that is under way would otherwise leave its connection behind.
      await heartbeat.stop()
      await sender.stop()
      await canFail(sendTopics(), 'notifying other nodes', log)
      const last = client
      client = undefined
      if (last) await canFail(last.end(), 'closing the listener', log)
    },
  }
}

/** Whom restores have closed the service for. */
export async function readClosed(client: pg.Client | pg.Pool): Promise<ReadonlySet<number>> {
  const { rows } = await client.query<{ tenant: string }>(FIND_CLOSED)
  return new Set(rows.map(({ tenant }) => Number(tenant)))
}

/** Whether it is closed for a tenant, or for all; null asks for all alone. */
export const isAmong = (closed: ReadonlySet<number>, tenantId: number | null): boolean =>
  closed.size > 0 && (closed.has(EVERY_TENANT) || (tenantId !== null && closed.has(tenantId)))
