/**
 * Notifies this node immediately, and others within milliseconds by NOTIFY, which may be lost. Each commit therefore
 * also stores its topics as rows for the heartbeats. Caches must not be trusted while `trusted()` is false.
 */
import type pg from 'pg'
import { poller } from '../../lib/poller.ts'
import type { Time } from '../../lib/time.ts'
import { canFail, canThrow } from '../observe/can-fail.ts'
import type { Logger } from '../observe/log.ts'
import { type DatabaseAddress, listenerClient } from './connection.ts'
import { withDeadline } from './deadline.ts'
import { isDatabaseFailure, markFailure, ServerRefused } from './failures.ts'
import { isSameServer, type ServerIdentity } from './first-message.ts'
import { HEARTBEAT_MS, type Heartbeat, readHeartbeat, TRUST_MS } from './heartbeat.ts'
import { readTopics } from './invalidations.ts'
import { coversTenant } from './maintenance.ts'
import { CHANNEL, openNotifier } from './notifier.ts'
import { openReferenceServer, type ServerCheck } from './reference-server.ts'
import type { Topic } from './topics.ts'
import { closeClient, type VerifiedClient } from './verified-client.ts'

/** Logged if the role may not read the identifier of the cluster. */
const UNNAMED =
  'The role wardkeep_app may not execute pg_control_system(), so database servers are distinguished by timeline and start time only. Grant it the privilege.'

export interface Changes {
  /** Calls `listener` for every topic, and with null when notifications may be missing. Returns the unsubscriber. */
  subscribe(listener: (topic: Topic | null) => void): () => void
  /** Drops the cached values of the topics on this node only. */
  invalidate(topics: Iterable<Topic>): void
  /**
   * Notifies this node immediately and the others within milliseconds, after a commit. Others miss it if this process
   * or the database stops first. @param xid the transaction that recorded the topic, to avoid handling it twice
   */
  notify(topic: Topic, xid?: string): void
  /** Records a transaction that this node committed, so that the next heartbeat skips its topics. */
  acknowledge(xid: string): void
  /** Returns whether this node has received every change that other nodes committed, up to less than a second ago. */
  trusted(): boolean
  /** Returns the milliseconds since the listener's last heartbeat, or since the start if there was none. */
  silentMs(): number
  /**
   * Returns whether a tenant (null: every tenant) is in maintenance mode. Nodes notice a change within a second. The
   * mode ends with the connection of the restore, which holds an advisory lock.
   */
  isInMaintenance(tenantId: number | null): boolean
  /**
   * The server that this node listens to and whose data it uses. Undefined until the node has listened. Null while a
   * new server is checked, which must not acknowledge commits in that time.
   */
  server(): ServerIdentity | null | undefined
  /** Registers the check that a new server must pass before this node uses it. */
  checkServers(check: ServerCheck): void
  /**
   * Checks which server is at the address, and moves the listener if it is a different one. Concurrent callers share a
   * check. Checks start at least 300 ms apart.
   */
  recheck(): Promise<void>
  stop(): Promise<void>
}

/** An implementation for the only process on a database. It neither sends nor receives notifications. */
export const alone: Changes = {
  subscribe: () => () => undefined,
  invalidate: () => undefined,
  notify: () => undefined,
  acknowledge: () => undefined,
  trusted: () => true,
  silentMs: () => 0,
  isInMaintenance: () => false,
  server: () => undefined,
  checkServers: () => undefined,
  recheck: async () => undefined,
  stop: async () => undefined,
}

export function watchChanges(address: DatabaseAddress, log: Logger, clock: Time): Changes {
  const listeners = new Set<(topic: Topic | null) => void>()
  const reference = openReferenceServer(clock)
  /** The ids of transactions that the next heartbeat skips, because this node has already handled their topics. */
  const own = new Set<string>()
  let client: VerifiedClient | undefined
  let aliveAt = clock.monotonic()
  let rechecking: Promise<void> | undefined
  let recheckedAt = Number.NEGATIVE_INFINITY
  let stopped = false
  let heartbeat: Heartbeat | undefined

  const invalidate = (topics: Iterable<Topic | null>) => callAll(listeners, topics, log)

  const receive = (topics: readonly Topic[]) => invalidate(readTopics(topics))

  /** Opens a connection, and closes it if the work fails. */
  async function dial(work: (fresh: VerifiedClient) => Promise<void>): Promise<void> {
    const fresh = listenerClient(address)
    fresh.on('error', (error) => lose(fresh, markFailure(error)))
    fresh.on('end', () => lose(fresh, new Error('Connection terminated')))
    try {
      await fresh.connect()
      await work(fresh)
    } catch (error) {
      await closeClient(fresh)
      throw error
    }
  }

  /** Listens on the connection and trusts its server from then on. */
  async function adopt(fresh: VerifiedClient): Promise<void> {
    const { pid: ownPid, server } = fresh.introduction
    reference.require(server)
    fresh.on('notification', ({ payload, processId }) => {
      // Skips the topics that this node sent itself, because it has handled them already.
      if (processId === ownPid) return
      const [topics, xids] = readPayload(payload ?? '')
      receive(topics)
      for (const xid of xids) own.add(xid)
    })
    await withDeadline(fresh.query(`listen ${CHANNEL}`), TRUST_MS)
    const asked = clock.monotonic()
    const first = await withDeadline(readHeartbeat(fresh, undefined), TRUST_MS)
    await reference.check(fresh)
    // Another connection may have reached a newer server during the check.
    reference.require(server)
    const before = client
    client = fresh
    reference.use(server)
    heartbeat = first
    own.clear()
    aliveAt = asked
    // Cached values may be outdated, because this node was not notified of commits before the first snapshot.
    invalidate([null])
    log.info({ server }, 'change listener connected')
    if (server.systemId === null) log.warn({}, UNNAMED)
    notifier.wake()
    if (before) void canFail(before.end(), 'closing of the listener on another server', log)
  }

  /** Moves the listener if the address leads to a different server. */
  async function move(): Promise<void> {
    await clock.delay(Math.max(0, recheckedAt + HEARTBEAT_MS - clock.monotonic()))
    recheckedAt = clock.monotonic()
    if (stopped) return
    await dial(async (fresh) => {
      if (client && isSameServer(client.introduction.server, fresh.introduction.server))
        await closeClient(fresh)
      else await adopt(fresh)
    })
  }

  function recheck(): Promise<void> {
    rechecking ??= canFail(move(), 'check of the database address', log).finally(() => {
      rechecking = undefined
    })
    return rechecking
  }

  function lose(lost: pg.Client, err: unknown): void {
    if (client !== lost) return
    client = undefined
    if (!stopped) log.warn({ err }, 'change listener lost; caches are bypassed until it reconnects')
  }

  /** Requests a heartbeat, or connects a listener if there is none. */
  async function beat(): Promise<boolean> {
    if (client) await askForLife(client)
    else await (rechecking ?? dial(adopt))
    return false
  }

  async function askForLife(listener: VerifiedClient): Promise<void> {
    const asked = clock.monotonic()
    const read = [...own]
    try {
      // Notifications that the server queued before its response to the heartbeat arrive before that response.
      const found = await withDeadline(readHeartbeat(listener, heartbeat?.snapshot, own), TRUST_MS)
      // Ignores the response, because it does not concern the newer listener.
      if (client !== listener) return
      heartbeat = found
      // This heartbeat covers these transactions, so the next heartbeat does not return them.
      for (const xid of read) own.delete(xid)
      invalidate(found.topics)
      aliveAt = asked
    } catch (error) {
      lose(listener, markFailure(error))
      void canFail(listener.end(), 'closing of a silent listener', log)
      throw error
    }
    notifier.wake()
  }

  const notifier = openNotifier(() => client, log, clock)
  const beats = poller(beat, {
    clock,
    pollMs: HEARTBEAT_MS,
    onError: logFailedBeats(log),
  })
  return {
    subscribe(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    invalidate: (topics) => receive([...topics]),
    notify(topic, xid) {
      invalidate([topic])
      notifier.send(xid === undefined ? topic : `${topic} ${xid}`)
    },
    acknowledge: (xid) => void own.add(xid),
    isInMaintenance: (id) => heartbeat !== undefined && coversTenant(heartbeat.maintenance, id),
    server: reference.current,
    checkServers: reference.checkServers,
    recheck,
    silentMs: () => clock.monotonic() - aliveAt,
    trusted: () => client !== undefined && clock.monotonic() - aliveAt < TRUST_MS,
    async stop() {
      stopped = true
      // Waits for a running reconnect, which would otherwise leave its connection open.
      await beats.stop()
      await rechecking
      await notifier.stop()
      if (client) await closeClient(client)
      client = undefined
    },
  }
}

/** Splits a notification into topics and transaction ids. Nodes of an older release may send several topics. */
function readPayload(payload: string): [Topic[], string[]] {
  const words = payload.split(' ')
  const isNumber = (word: string) => /^\d+$/.test(word)
  return [words.filter((word) => !isNumber(word)) as Topic[], words.filter(isNumber)]
}

function callAll(
  listeners: Iterable<(topic: Topic | null) => void>,
  topics: Iterable<Topic | null>,
  log: Logger,
): void {
  for (const topic of topics)
    for (const listener of listeners)
      canThrow(
        () => listener(topic),
        `handling of the change ${topic ?? 'notifications that were missed'}`,
        log,
      )
}

/** Logs failed heartbeats, except those of lost connections, which are logged elsewhere. */
const logFailedBeats = (log: Logger) => (error: unknown, previous: unknown) => {
  if (error instanceof ServerRefused && !(previous instanceof ServerRefused))
    log.warn({ err: error }, 'database server rejected')
  else if (!isDatabaseFailure(error) && !previous)
    log.error({ err: error }, 'database server not usable')
}
