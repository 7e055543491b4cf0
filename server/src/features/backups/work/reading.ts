/**
 * Says which backups are being read, to whoever wants to delete one: by locks of a connection of its own, so that every
 * node hears of it, and that it is true no longer than the process lives. Who loses that connection reads on unheld.
 */
import { Problem } from '../../../lib/problems.ts'
import {
  type Connection,
  type Holder,
  openHolder,
  withDeadline,
} from '../../../platform/db/index.ts'
import { canFail } from '../../../platform/observe/can-fail.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import { readLockOf } from '../backups.store.ts'

const RETRY_SECONDS = 1
/** The database answers such a question at once. */
const ANSWERS_WITHIN_MS = 10_000

export interface Reading {
  /**
   * Keeps the backup from being deleted until it is disposed of. Whoever looks the backup up behind it finds
   * one that stays.
   * @throws Problem 503 while it is being deleted
   */
  hold(id: string): Promise<AsyncDisposable>
}

export interface ReadingDeps {
  openConnection(): Connection
  log: Logger
}

/** A connection for all that this process reads. */
interface Shared {
  holder: Promise<Holder>
  holds: number
}

/** There is a connection for as long as something is read. */
export function openReading({ openConnection, log }: ReadingDeps): Reading {
  let opened: Shared | undefined

  function open(): Shared {
    const shared = { holder: openHolder(openConnection()), holds: 0 }
    const forget = () => {
      if (opened === shared) opened = undefined
    }
    shared.holder.then(({ lost }) => lost.addEventListener('abort', forget), forget)
    return shared
  }

  /** @param lock where it was taken */
  async function letGo(shared: Shared, lock?: number): Promise<void> {
    shared.holds -= 1
    const isLast = shared.holds === 0
    if (isLast && opened === shared) opened = undefined
    const work = async () => {
      const holder = await shared.holder
      if (isLast) await holder.close()
      else if (lock !== undefined) await holder.unshare('longReads', lock)
    }
    await answered(shared, work())
  }

  /** A connection that is dead without a word is given up: whoever reads next has another. */
  async function answered<T>(shared: Shared, asked: Promise<T>): Promise<T> {
    try {
      return await withDeadline(asked, ANSWERS_WITHIN_MS)
    } catch (error) {
      if (opened === shared) opened = undefined
      throw new Problem('database_away', { cause: error })
    }
  }

  return {
    async hold(id) {
      opened ??= open()
      const shared = opened
      shared.holds += 1
      const lock = readLockOf(id)
      const release = (taken?: number) =>
        canFail(letGo(shared, taken), 'no longer saying that a backup is read', log)
      try {
        const isHeld = await answered(
          shared,
          shared.holder.then((holder) => holder.share('longReads', lock)),
        )
        if (!isHeld) throw new Problem('busy', { retryAfter: RETRY_SECONDS })
      } catch (error) {
        await release()
        throw error
      }
      return { [Symbol.asyncDispose]: async () => void (await release(lock)) }
    },
  }
}
