/** Records attempts, many per transaction. Retries during an outage of the database, so that no result is lost. */
import { type Batcher, batcher } from '../../../lib/batcher.ts'
import { isoAt } from '../../../lib/clock.ts'
import type { Time } from '../../../lib/time.ts'
import { isResting, type Scopes } from '../../../platform/db/index.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import { type DeliveryResult, recordResults } from './deliveries.store.ts'

export type ResultWriter = Batcher<DeliveryResult>

const MAX_AT_ONCE = 500

/** Creates a batcher that records results of attempts. Drops a result only if PostgreSQL rejects its values. */
export function createResultWriter(db: Scopes, clock: Time, log: Logger): ResultWriter {
  return batcher<DeliveryResult>(
    (results) => db.acrossTenants(async (tx) => recordResults(tx, results, isoAt(clock))),
    {
      clock,
      maxItems: MAX_AT_ONCE,
      onError(error, results) {
        if (!isResting(error))
          log.warn({ err: error, deliveries: results.length }, 'recording of deliveries failed')
        // Splits the batch if PostgreSQL rejects the values of one result, so that the other results are recorded.
        return isForGood(error) ? 'split' : 'retry'
      },
    },
  )
}

/** Returns whether PostgreSQL has rejected the values (SQLSTATE classes 22 and 23). All other errors are temporary. */
function isForGood(error: unknown): boolean {
  return error instanceof TypeError || /^2[23]/.test((error as { code?: string }).code ?? '')
}
