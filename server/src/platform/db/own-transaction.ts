import type { Time } from '../../lib/time.ts'
import { openTotals } from '../lists/totals.ts'
import type { Logger } from '../observe/log.ts'
import type { Changes } from './changes.ts'
import type { EntryKey } from './entry-key.ts'
import { RolledBack } from './failures.ts'
import { type Ask, ask } from './statements.ts'
import { lastCommand, opening, type TenantTx, transactionOn } from './transaction.ts'
import type { VerifiedClient } from './verified-client.ts'

interface OwnTransactionDeps {
  changes: Changes
  clock: Time
  log: Logger
  entryKey: EntryKey
}

/**
 * Runs `work` in one transaction across tenants, without retries. After an error, the caller must close the connection.
 */
export async function inOwnTransaction<T>(
  client: VerifiedClient,
  { changes, clock, log, entryKey }: OwnTransactionDeps,
  work: (tx: TenantTx) => Promise<T>,
): Promise<T> {
  const send: Ask = (query) => ask(client, query)
  const { tx, sent, commit, committed } = transactionOn(send, null, {
    mode: 'write',
    totals: openTotals(),
    entryKey,
    isAgain: false,
    begunAt: clock.monotonic(),
  })
  await send(opening(null, 'write'))
  const value = await work(tx)
  const [done] = await Promise.all([commit(), ...sent])
  if (lastCommand(done) !== 'COMMIT') throw new RolledBack()
  committed(changes, log)
  return value
}
