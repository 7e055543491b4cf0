/** Writes the journal: one entry a change, on the transaction of the change. */

import type { Caller, Origin } from '../access/index.ts'
import type { TenantTx } from '../db/index.ts'
import type { Action } from './actions.ts'
import './journal.table.ts'

/** Announced with every entry, for the journal's readers. */
export const JOURNAL_TOPIC = 'journal'

/** Who did it, as far as known: the system itself has no user and no origin. */
export interface Actor {
  user_id: number | null
  user_email: string | null
  origin: Origin | null
}

/** The service's own doing: schedules, start, the command line. */
export const SYSTEM: Actor = { user_id: null, user_email: null, origin: null }

export function actorOf(caller: Caller): Actor {
  return { user_id: caller.user_id, user_email: caller.email, origin: caller.origin }
}

export interface Entry {
  action: Action
  /** The tenant whose record it is; null where there is none, as in a sign-in to nowhere. */
  tenant_id: number | null
  resource_type: string
  resource_id?: number | string | null
  /** What changed, or what is worth knowing; `changesBetween` makes the usual form. */
  changes?: Record<string, unknown>
}

/**
 * Appends `entry`. It commits with the change that it tells of, or not at all; nobody waits for it
 * but the commit.
 */
export async function append(tx: TenantTx, actor: Actor, entry: Entry): Promise<void> {
  tx.send(insertion(tx, actor, entry).compile())
  tx.announce(JOURNAL_TOPIC)
}

/** As `append`, and waits for the entry's number and time: for what is made of the entry. */
export async function appendReturning(
  tx: TenantTx,
  actor: Actor,
  entry: Entry,
): Promise<{ id: number; created_at: string }> {
  tx.announce(JOURNAL_TOPIC)
  return insertion(tx, actor, entry).returning(['id', 'created_at']).executeTakeFirstOrThrow()
}

function insertion(tx: TenantTx, actor: Actor, entry: Entry) {
  return tx.db.insertInto('journal').values({
    tenant_id: entry.tenant_id,
    user_id: actor.user_id,
    user_email: actor.user_email,
    action: entry.action,
    resource_type: entry.resource_type,
    resource_id:
      entry.resource_id === undefined || entry.resource_id === null
        ? null
        : String(entry.resource_id),
    changes: entry.changes === undefined ? null : JSON.stringify(entry.changes),
    ip: actor.origin?.ip ?? null,
    user_agent: actor.origin?.user_agent ?? null,
    request_id: actor.origin?.request_id ?? null,
  })
}
