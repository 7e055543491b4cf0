/** How the bot does, as every process knows it: it is one process' work, and all answer for it. */
import { poller } from '../../../lib/poller.ts'
import { type Changes, logFailures, type Scopes } from '../../../platform/db/index.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import type { BotState } from '../messenger.table.ts'
import { TOPIC_BOT } from '../topics.ts'
import { type BotStanding, findStanding } from './bot.store.ts'

const POLL_MS = 5_000
/** The states in which messages go out. */
const SENDS: ReadonlySet<BotState> = new Set(['ok', 'deaf', 'conflict'])

export interface Standing {
  username(): string | null
  /** Whether messages go out: some process has the bot, its token is good, and the provider answers. */
  works(): boolean
  /** Whether all is well: it works, and is told of updates. */
  isWell(): boolean
  stop(): Promise<void>
}

export function watchStanding(deps: { db: Scopes; changes: Changes; log: Logger }): Standing {
  const { db, changes, log } = deps
  let known: BotStanding = { state: 'new', username: null, is_held: false }
  const watcher = poller(
    async () => {
      known = await db.acrossTenants(findStanding, 'read')
      return false
    },
    {
      clock: db.clock,
      pollMs: POLL_MS,
      minGapMs: 50,
      onError: logFailures('looking how the messenger does', log),
    },
  )
  const unsubscribe = changes.subscribe((topic) => {
    if (topic === TOPIC_BOT || topic === null) watcher.wake()
  })
  const works = () => known.is_held && SENDS.has(known.state)
  return {
    username: () => known.username,
    works,
    isWell: () => works() && known.state === 'ok',
    stop() {
      unsubscribe()
      return watcher.stop()
    },
  }
}
