/** Writes the journal: one entry a change, on the transaction of the change. */

import type { Caller, Origin } from '../access/index.ts'
import type { TenantTx } from '../db/index.ts'
import type { Action } from './actions.ts'
import './journal.table.ts'

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
  const entered = tx.db.insertInto('journal').values({
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
  tx.send(entered.compile())
}

/**
 * `{before, after}` of the fields that differ. Only `fields` are looked at, so a secret column is
 * never in by accident.
 */
export function changesBetween<T extends object>(
  before: T | null,
  after: T | null,
  fields: readonly (keyof T & string)[],
): { before: Record<string, unknown> | null; after: Record<string, unknown> | null } {
  const differing = fields.filter(
    (field) => JSON.stringify(before?.[field]) !== JSON.stringify(after?.[field]),
  )
  const pick = (record: T | null) =>
    record && Object.fromEntries(differing.map((field) => [field, record[field]]))
  return { before: pick(before), after: pick(after) }
}
