/**
 * Writes down how tries went, many at once: while one transaction is under way the next one's are
 * gathered. It does not give up while the database is away, since what was sent should be known.
 */
import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises'
import type { Scopes } from '../../../platform/db/index.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import { type Outcome, recordOutcomes } from './deliveries.store.ts'

export interface Recorder {
  /** Has the outcome written down; `done` hears whether it was. */
  add(outcome: Outcome, done: (isWritten: boolean) => void): void
  /** Waits for what has been added, for up to `patienceMs`, and takes nothing more. */
  finish(patienceMs: number): Promise<void>
}

const MOST_AT_ONCE = 500
const AGAIN_MS = 500

interface Entry {
  outcome: Outcome
  done: (isWritten: boolean) => void
}

export function openRecorder(db: Scopes, log: Logger, iso: () => string): Recorder {
  let waiting: Entry[] = []
  let isOver = false
  let writing: Promise<void> | undefined

  async function write(): Promise<void> {
    // What ends in the same turn of the event loop goes together.
    await turn()
    let most = MOST_AT_ONCE
    while (waiting.length > 0 && !isOver) {
      const batch = waiting.slice(0, most)
      const settle = (isWritten: boolean) => {
        waiting = waiting.slice(batch.length)
        for (const { done } of batch) done(isWritten)
      }
      try {
        await db.acrossTenants(async (tx) =>
          recordOutcomes(
            tx,
            batch.map(({ outcome }) => outcome),
            iso(),
          ),
        )
        settle(true)
        most = MOST_AT_ONCE
      } catch (error) {
        log.warn({ err: error, deliveries: batch.length }, 'writing down deliveries failed')
        // One that can't be written must not keep the others from it: it is found by going alone.
        if (!isForGood(error)) await delay(AGAIN_MS)
        else if (batch.length > 1) most = 1
        else settle(false)
      }
    }
    writing = undefined
  }

  return {
    add(outcome, done) {
      waiting.push({ outcome, done })
      writing ??= write()
    },
    async finish(patienceMs) {
      const late = new AbortController()
      const patience = delay(patienceMs, undefined, { signal: late.signal })
      await Promise.race([writing, patience.catch(() => undefined)])
      late.abort()
      isOver = true
    },
  }
}

/** Whether the values themselves are refused (SQLSTATE classes 22 and 23); anything else may pass. */
function isForGood(error: unknown): boolean {
  return error instanceof TypeError || /^2[23]/.test((error as { code?: string }).code ?? '')
}
