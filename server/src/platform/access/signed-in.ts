/** A second look at who calls, within the transaction of what they ask for. */
import type { TenantTx } from '../db/index.ts'
import type { Caller } from './caller.ts'

/**
 * Refuses a caller whose session has ended since the request came, be it by a block, a new role or a deactivated
 * tenant. The question is sent at once: sent right behind a lock it sees what the lock has waited for, so nobody
 * undoes their own block behind it. Handed in, as sessions know what is below them and not the reverse.
 * @throws Problem 401
 */
export type RequireSignedIn = (tx: TenantTx, caller: Caller) => Promise<void>
