import type pg from 'pg'
import type { Time } from '../../lib/time.ts'
import { openTotals } from '../lists/totals.ts'
import type { PgConnection } from './connection.ts'
import { entryKey } from './entry-key.ts'
import type { Scope } from './scope.ts'
import { type Ask, ask } from './statements.ts'
import { opening, type TenantTx, transactionOn } from './transaction.ts'

const MODE = 'filtered list'

/** Runs `work` in one read-only snapshot with a timeout of 3 s per statement. After an error, close the connection. */
export async function readIn<T>(
  connection: PgConnection,
  scope: Scope,
  work: (tx: TenantTx) => Promise<T>,
  clock: Pick<Time, 'monotonic'>,
): Promise<T> {
  const client = connection as unknown as pg.PoolClient
  const send: Ask = (query) => ask(client, query)
  const { tx, commit, abandon } = transactionOn(send, scope, {
    mode: MODE,
    totals: openTotals(),
    // Transactions that only read append nothing.
    entryKey: entryKey(),
    isAgain: false,
    begunAt: clock.monotonic(),
  })
  try {
    await send(opening(scope, MODE))
    const value = await work(tx)
    await commit()
    return value
  } finally {
    abandon()
  }
}
