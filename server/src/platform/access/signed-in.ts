/** Checks the caller's session again within the transaction of an operation. */
import type { TenantTx } from '../db/index.ts'
import type { Caller } from './caller.ts'

/**
 * Rejects a caller whose session has ended since the request arrived, by a block, a role change or a deactivated
 * tenant. If the operation has taken a lock before this call, the query sees changes that were made during the wait for
 * that lock. A blocked user therefore cannot undo their own block. The auth feature passes this function in, because
 * sessions depend on this layer and not the reverse.
 * @throws Problem 401 if the session has ended
 */
export type RequireSignedIn = (tx: TenantTx, caller: Caller) => Promise<void>
