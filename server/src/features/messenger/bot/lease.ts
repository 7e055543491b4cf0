/** Ensures that at most one process runs the bot, which receives updates and sends messages. */
import type { Time } from '../../../lib/time.ts'
import type { Changes, Scopes } from '../../../platform/db/index.ts'
import {
  keepLease,
  type Lease,
  type LeasedWork,
  type Tenure,
} from '../../../platform/lease/index.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import { TOPIC_BOT } from '../messenger.table.ts'
import * as store from './bot.store.ts'

export interface BotLeaseDeps {
  db: Scopes
  changes: Changes
  clock: Time
  log: Logger
  worker: string
  /** Starts the bot's work. Stopping the returned work also aborts its requests. */
  begin(tenure: Tenure): LeasedWork
}

export function keepBotLease({ changes, worker, ...deps }: BotLeaseDeps): Lease {
  return keepLease({
    ...deps,
    row: {
      name: 'messenger bot',
      claim: (tx) => store.claimBotLease(tx, worker),
      renew: store.renewBotLease,
      holds: store.holdsBotLease,
      release: store.releaseBotLease,
    },
    signals: { changes, topic: TOPIC_BOT },
  })
}
