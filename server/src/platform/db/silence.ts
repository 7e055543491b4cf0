/** Aborts waits for an unresponsive (silent) database, so that requests get a response in time (decision 0035). */
import type pg from 'pg'
import type { Time } from '../../lib/time.ts'
import type { Changes } from './changes.ts'
import { DatabaseTimeout } from './deadline.ts'
import { hangUp } from './hosts.ts'

/** The database counts as silent when the listener has received nothing for this long. */
const SILENT_MS = 2_000
/** How long a query or a connection may wait for a silent database. */
const PATIENCE_MS = 3_000
const CHECK_MS = 100
/** A gap between two checks that is longer than this means that the process was suspended or busy. */
const PAUSED_MS = 1_000

/** Thrown if the database was silent for so long that a wait was aborted. */
export class DatabaseSilent extends DatabaseTimeout {
  override name = 'DatabaseSilent'

  constructor() {
    super('The database stopped responding.')
  }
}

/** The waits of one transaction for the database. They share a time limit, which starts again with each response. */
export interface Patience {
  /**
   * Waits for a connection. One that arrives too late goes back to the pool. @throws DatabaseSilent if this wait is
   * aborted, or the database is still silent after an earlier one
   */
  connection(connect: () => Promise<pg.PoolClient>): Promise<pg.PoolClient>
  /** Waits for a response on the connection. Aborting the wait closes the connection. */
  answer<T>(client: pg.PoolClient, answering: Promise<T>): Promise<T>
}

/** Waits without a time limit, until the response arrives or the connection is lost. */
export const ENDLESS: Patience = {
  connection: (connect) => connect(),
  answer: (_, answering) => answering,
}

export interface SilenceWatch {
  begin(): Patience
  stop(): void
}

interface Wait {
  since: number
  giveUp(): void
}

export interface SilenceOptions {
  changes: Pick<Changes, 'silentMs'>
  clock: Pick<Time, 'monotonic' | 'every'>
  /** Resolves when the database responds on a connection of the pool. */
  probe(): Promise<unknown>
}

/** Aborts the waits of transactions while the listener receives nothing from the database. */
export function watchDatabaseSilence({ changes, clock, probe }: SilenceOptions): SilenceWatch {
  const waits = new Set<Wait>()
  /** True from the first aborted wait until the listener or a probe receives a response. */
  let isKnown = false
  let isProbing = false
  let checkedAt = clock.monotonic()
  /** When this process last resumed. Waits start here, because a suspended process reads no response. */
  let awakeSince = checkedAt

  let isDue = false

  const isSilent = (now: number) => Math.min(changes.silentMs(), now - awakeSince) >= SILENT_MS

  /** Checks after the event loop has read pending input, because timers run first after a busy period. */
  function checkNextTurn(): void {
    if (isDue) return
    isDue = true
    setImmediate(check)
  }

  function check(): void {
    isDue = false
    const now = clock.monotonic()
    if (now - checkedAt > PAUSED_MS) awakeSince = now
    checkedAt = now
    isKnown &&= isSilent(now)
    if (isKnown && !isProbing) void probeOnce()
    if (!isSilent(now)) return
    for (const wait of waits)
      if (now - Math.max(wait.since, awakeSince) >= PATIENCE_MS) {
        isKnown = true
        waits.delete(wait)
        wait.giveUp()
      }
  }

  /** Probes the database, because only the listener may be disconnected, which must not refuse requests for long. */
  async function probeOnce(): Promise<void> {
    isProbing = true
    await probe().then(
      () => {
        isKnown = false
      },
      () => undefined,
    )
    isProbing = false
  }

  function start(since: number, giveUp: () => void): Wait {
    const wait = { since, giveUp }
    waits.add(wait)
    return wait
  }

  function begin(): Patience {
    /** When the transaction began to wait. Undefined between a response and the next request. */
    let since: number | undefined = clock.monotonic()
    let pending = 0
    let answering: Wait | undefined

    return {
      async connection(connect) {
        if (isKnown && isSilent(clock.monotonic())) throw new DatabaseSilent()
        const { promise: givenUp, reject } = Promise.withResolvers<never>()
        let isLate = false
        const wait = start(since ?? clock.monotonic(), () => {
          isLate = true
          reject(new DatabaseSilent())
        })
        const connecting = connect()
        // An idle connection does not prove that the server responds, so the wait also covers the query.
        connecting.then(
          (client) => (isLate ? client.release() : waits.delete(wait)),
          () => waits.delete(wait),
        )
        return Promise.race([connecting, givenUp])
      },
      async answer(client, answer) {
        answering ??= start(since ?? clock.monotonic(), () => hangUp(client))
        pending += 1
        try {
          return await answer
        } finally {
          pending -= 1
          since = undefined
          if (pending > 0) answering.since = clock.monotonic()
          else {
            waits.delete(answering)
            answering = undefined
          }
        }
      },
    }
  }

  return { begin, stop: clock.every(CHECK_MS, checkNextTurn) }
}
