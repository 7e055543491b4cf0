/**
 * Writes down how tries went, many in one transaction. It does not give up while the database is
 * away, since what was sent should be known.
 */
import { type Batcher, batcher } from '../../../lib/batcher.ts'
import { isoAt } from '../../../lib/clock.ts'
import type { Time } from '../../../lib/time.ts'
import { isResting, type Scopes } from '../../../platform/db/index.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import { type Result, recordResults } from './deliveries.store.ts'

export type ResultWriter = Batcher<Result>

const MAX_AT_ONCE = 500

/** Returns where results are added: each is written down, or dropped when PostgreSQL refuses it. */
export function createResultWriter(db: Scopes, clock: Time, log: Logger): ResultWriter {
  return batcher<Result>(
    (results) => db.acrossTenants(async (tx) => recordResults(tx, results, isoAt(clock))),
    {
      clock,
      maxItems: MAX_AT_ONCE,
      onError(error, results) {
        if (!isResting(error))
          log.warn({ err: error, deliveries: results.length }, 'writing down deliveries failed')
        // One that can't be written must not keep the others from it: it is found by going alone.
        return isForGood(error) ? 'split' : 'retry'
      },
    },
  )
}

/** Whether the values themselves are refused (SQLSTATE classes 22 and 23); anything else may pass. */
function isForGood(error: unknown): boolean {
  return error instanceof TypeError || /^2[23]/.test((error as { code?: string }).code ?? '')
}
