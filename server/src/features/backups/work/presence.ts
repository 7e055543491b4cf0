/** Announces that this process claims queued backup jobs, using a lock that several processes can share. */
import { poller } from '../../../lib/poller.ts'
import type { Time } from '../../../lib/time.ts'
import { logFailures } from '../../../platform/db/index.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import type { AcquiredLock, BackupLocks } from './locks.ts'

const POLL_MS = 2_000

/** Holds the lock until `stop` is called. Acquires the lock again if its connection is lost. */
export function startPresence(locks: BackupLocks, { clock, log }: { clock: Time; log: Logger }) {
  let lock: AcquiredLock | undefined
  async function keep(): Promise<boolean> {
    if (!lock || lock.lost.aborted) lock = await locks.share('longJobTakers', 0)
    return false
  }
  const renewal = poller(keep, {
    clock,
    pollMs: POLL_MS,
    onError: logFailures('announcement of the backup worker', log),
  })
  return {
    async stop(): Promise<void> {
      await renewal.stop()
      await lock?.[Symbol.asyncDispose]()
    },
  }
}
