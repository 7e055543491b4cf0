/** Reads the pages of a long list from a standby if one is usable, and otherwise from the primary. */

import { withDeadline } from './deadline.ts'
import { readIn } from './read-in.ts'
import type { Replica, ReplicaWork, Standby } from './replica.ts'
import { inScope, type Scope, type Scopes } from './scope.ts'
import type { TenantTx } from './transaction.ts'
import { AWAY_MS } from './verified-client.ts'

export interface LongReader {
  /** Runs `work` in a transaction that sees everything committed before the reader was opened. */
  inScope<T>(scope: Scope, work: (tx: TenantTx) => Promise<T>): Promise<T>
  close(): Promise<void>
}

/** @param replica undefined if none is configured */
export async function openLongReader(
  db: Scopes,
  replica: Replica | undefined,
  beginning: ReplicaWork,
): Promise<LongReader> {
  let standby = await replica?.open(beginning)

  async function leave(): Promise<void> {
    const left = standby
    standby = undefined
    await left?.close()
  }

  async function fromStandby<T>(
    { client, giveUp }: Standby,
    scope: Scope,
    work: (tx: TenantTx) => Promise<T>,
  ): Promise<{ value: T } | undefined> {
    try {
      return { value: await withDeadline(readIn(client, scope, work, db.clock), AWAY_MS) }
    } catch (error) {
      giveUp(error)
      await leave()
      return undefined
    }
  }

  return {
    async inScope(scope, work) {
      const found = standby && (await fromStandby(standby, scope, work))
      return found ? found.value : inScope(db, scope, work, 'filtered list')
    },
    close: leave,
  }
}
