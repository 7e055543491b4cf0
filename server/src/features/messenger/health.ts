/** The health of the bot. Every process reports it, although only one process runs the bot. */
import { poller } from '../../lib/poller.ts'
import { type Changes, logFailures, type Scopes } from '../../platform/db/index.ts'
import type { Logger } from '../../platform/observe/log.ts'
import { type BotStatus, findBotStatus } from './bot/bot.store.ts'
import { type BotState, TOPIC_BOT } from './messenger.table.ts'

const POLL_MS = 5_000
/** The states in which the bot can send messages. */
const SENDS: ReadonlySet<BotState> = new Set(['ok', 'deaf', 'conflict'])

export interface BotHealth {
  username(): string | null
  /** Returns whether messages can be sent: a process runs the bot, its token is valid, and the provider responds. */
  works(): boolean
  /** Returns whether messages can be sent, and updates arrive. */
  isWell(): boolean
  stop(): Promise<void>
}

export function watchBotHealth(deps: { db: Scopes; changes: Changes; log: Logger }): BotHealth {
  const { db, changes, log } = deps
  let known: BotStatus = { state: 'new', username: null, is_held: false }
  const polling = poller(
    async () => {
      known = await db.acrossTenants(findBotStatus, 'read')
      return false
    },
    {
      clock: db.clock,
      pollMs: POLL_MS,
      minGapMs: 50,
      onError: logFailures('messenger health check', log),
    },
  )
  const unsubscribe = changes.subscribe((topic) => {
    if (topic === TOPIC_BOT || topic === null) polling.wake()
  })
  const works = () => known.is_held && SENDS.has(known.state)
  return {
    username: () => known.username,
    works,
    isWell: () => works() && known.state === 'ok',
    stop() {
      unsubscribe()
      return polling.stop()
    },
  }
}
