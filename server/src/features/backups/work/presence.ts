/**
 * Says that a process takes the jobs of backups that wait: by a lock that many can share, of a connection of its
 * own, so that it is true no longer than the process lives.
 */
import { poller } from '../../../lib/poller.ts'
import type { Time } from '../../../lib/time.ts'
import {
  type Connection,
  type Holder,
  logFailures,
  openHolder,
} from '../../../platform/db/index.ts'
import { canFail } from '../../../platform/observe/can-fail.ts'
import type { Logger } from '../../../platform/observe/log.ts'

const LOOK_EVERY_MS = 2_000

export interface PresenceDeps {
  openConnection(): Connection
  clock: Time
  log: Logger
}

/** Says so until it is stopped, again where its connection was lost. */
export function startPresence({ openConnection, clock, log }: PresenceDeps) {
  let holder: Holder | undefined
  async function keep(): Promise<boolean> {
    if (holder && !holder.lost.aborted) return false
    const opened = await openHolder(openConnection())
    await opened.share('longJobTakers', 0)
    holder = opened
    return false
  }
  const keeping = poller(keep, {
    clock,
    pollMs: LOOK_EVERY_MS,
    onError: logFailures('saying that backups are made here', log),
  })
  return {
    async stop(): Promise<void> {
      await keeping.stop()
      if (holder) await canFail(holder.close(), 'no longer saying that backups are made here', log)
    },
  }
}
