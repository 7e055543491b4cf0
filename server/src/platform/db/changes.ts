/**
 * Tells every node which cached things a commit has made stale: at once on this node, by
 * LISTEN/NOTIFY on the others. A cache must not be believed while `trusted()` is false.
 */
import type pg from 'pg'
import { canFail } from '../observe/can-fail.ts'
import type { Logger } from '../observe/log.ts'
import { type DatabaseAddress, listenerClient } from './connection.ts'

/** What became stale: `user:5`, `tenant:2`, `session:<jti>`, `department:7`, `keys`. */
export type Topic = string

export const CHANNEL = 'wardkeep_changes'

/** A sign of life is asked for this often, and one that is older than the limit is not believed. */
const HEARTBEAT_MS = 300
const TRUST_MS = 900

export interface Changes {
  /** Calls `listener` for every stale topic, and with null when anything may have been missed. */
  subscribe(listener: (topic: Topic | null) => void): void
  /** Announces topics on this node; the other nodes learn them from the NOTIFY of the commit. */
  emit(topics: Iterable<Topic>): void
  /** Whether changes of other nodes are sure to have been heard up to less than a second ago. */
  trusted(): boolean
  stop(): Promise<void>
}

/** Starts listening, and keeps trying for as long as the database is away. */
export function watchChanges(address: DatabaseAddress, log: Logger): Changes {
  const listeners = new Set<(topic: Topic | null) => void>()
  let client: pg.Client | undefined
  let heardAt = 0
  let stopped = false
  let timer: NodeJS.Timeout | undefined

  const emit = (topics: Iterable<Topic | null>) => {
    for (const topic of topics) for (const listener of listeners) listener(topic)
  }

  async function connect(): Promise<void> {
    const fresh = listenerClient(address)
    fresh.on('error', () => lose(fresh))
    fresh.on('end', () => lose(fresh))
    fresh.on('notification', ({ payload }) => emit((payload ?? '').split(' ')))
    try {
      await fresh.connect()
      await fresh.query(`listen ${CHANNEL}`)
    } catch (error) {
      await canFail(fresh.end(), 'closing a listener that could not start', log)
      throw error
    }
    // What was committed while nobody listened is unknown: all that is cached may be stale.
    emit([null])
    client = fresh
    heardAt = performance.now()
    log.info({}, 'listening for changes of other nodes')
  }

  function lose(lost: pg.Client): void {
    if (client !== lost) return
    client = undefined
    if (!stopped) log.warn({}, 'lost the listener; cached state is read anew until it is back')
  }

  async function beat(): Promise<void> {
    try {
      if (!client) await connect()
      else {
        const asked = performance.now()
        // Notifications that were queued before the answer have arrived with it.
        await withDeadline(client.query('select 1'), TRUST_MS)
        heardAt = asked
      }
    } catch {
      const broken = client
      if (broken) {
        lose(broken)
        void canFail(broken.end(), 'closing a silent listener', log)
      }
    } finally {
      if (!stopped) timer = setTimeout(beat, HEARTBEAT_MS)
    }
  }

  let running = beat()
  return {
    subscribe: (listener) => void listeners.add(listener),
    emit,
    trusted: () => client !== undefined && performance.now() - heardAt < TRUST_MS,
    async stop() {
      stopped = true
      clearTimeout(timer)
      await running
      running = Promise.resolve()
      const last = client
      client = undefined
      if (last) await canFail(last.end(), 'closing the listener', log)
    },
  }
}

async function withDeadline<T>(promise: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('no answer in time')), ms)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
