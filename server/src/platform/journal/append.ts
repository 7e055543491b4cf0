/** Writes the journal: one entry a change, on the transaction of the change. */

import { type RawBuilder, sql } from 'kysely'
import type { Caller, Origin } from '../access/index.ts'
import { statement, type TenantTx } from '../db/index.ts'
import type { Action } from './actions.ts'
import './journal.table.ts'

/** Every entry's topic, for the journal's consumers. */
export const JOURNAL_TOPIC = 'journal'

/** Who did it, as far as known: the system itself has no user and no origin. */
export interface Actor {
  user_id: number | null
  user_email: string | null
  origin: Origin | null
  /** The session of a request: an entry in its name is refused once the session has ended. */
  session_id?: string
}

/** The service's own doing: schedules, start, the command line. */
export const SYSTEM: Actor = { user_id: null, user_email: null, origin: null }

/** The caller of a request, for what is written while their session lives. */
export function actorOf(caller: Caller): Actor {
  const { user_id, email: user_email, origin, session_id } = caller
  return { user_id, user_email, origin, session_id }
}

/** The actor of a job that they ordered, whose entries are written whether their session still lives or not. */
export function ordererOf({ session_id: _, ...actor }: Actor): Actor {
  return actor
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

/** The columns of an entry that its writer gives. */
export interface EntryRow {
  tenant_id: number | null
  user_id: number | null
  user_email: string | null
  action: Action
  resource_type: string
  resource_id: string | null
  changes: string | null
  ip: string | null
  user_agent: string | null
  request_id: string | null
}

const COLUMNS = [
  'tenant_id',
  'user_id',
  'user_email',
  'action',
  'resource_type',
  'resource_id',
  'changes',
  'ip',
  'user_agent',
  'request_id',
] as const satisfies (keyof EntryRow)[]

/**
 * The insertion of an entry, as a part of a statement that also makes the change.
 * @param expressionOf gives the SQL of each column
 * @param from of whose rows each makes an entry: `sql\`from used\``
 */
export function insertion(
  expressionOf: (column: keyof EntryRow) => RawBuilder<unknown>,
  from: RawBuilder<unknown> = sql``,
): RawBuilder<unknown> {
  return sql`insert into journal (${sql.join(COLUMNS.map((column) => sql.ref(column)))})
    select ${sql.join(COLUMNS.map(expressionOf))} ${from}`
}

interface InSession {
  session_id: string | null
}

const sessionOf = ({ session_id }: Actor): InSession => ({ session_id: session_id ?? null })

/** The session's state is asked in the statement of the entry: it costs no round trip, and no operation can forget it. */
const whileSessionHolds = (value: (name: 'session_id') => RawBuilder<unknown>) =>
  sql`where session_holds(${value('session_id')}::uuid)`

const insert = statement<EntryRow & InSession>((value) =>
  insertion(value, whileSessionHolds(value)),
)
const insertReturning = statement<EntryRow & InSession>(
  (value) => sql`${insertion(value, whileSessionHolds(value))} returning id, created_at`,
)
const hold = statement<InSession>(
  (value) => sql`select session_holds(${value('session_id')}::uuid)`,
)

/**
 * Appends `entry`. It commits with the change that it tells of, or not at all; nobody waits for it
 * but the commit, which fails where the actor's session has ended.
 */
export async function append(tx: TenantTx, actor: Actor, entry: Entry): Promise<void> {
  tx.send(insert({ ...rowOf(actor, entry), ...sessionOf(actor) }))
  tx.notify(JOURNAL_TOPIC)
}

const TYPES: Partial<Record<keyof EntryRow, string>> = {
  tenant_id: 'bigint',
  user_id: 'bigint',
  changes: 'jsonb',
  request_id: 'uuid',
}

/** Has the transaction fail where the actor's session has ended; for work that writes no entry of its own. */
export function requireSession(tx: TenantTx, actor: Actor): void {
  tx.send(hold(sessionOf(actor)))
}

const insertAll = statement<{ [C in keyof EntryRow]: EntryRow[C][] } & InSession>((value) =>
  insertion(
    (column) => sql.ref(`e.${column}`),
    sql`from unnest(${sql.join(
      COLUMNS.map((column) => sql`${value(column)}::${sql.raw(TYPES[column] ?? 'text')}[]`),
    )}) as e (${sql.join(COLUMNS.map((column) => sql.ref(column)))}) ${whileSessionHolds(value)}`,
  ),
)

/** As `append`, of many entries at once, by one statement. */
export function appendAll(tx: TenantTx, actor: Actor, entries: readonly Entry[]): void {
  if (entries.length === 0) return
  const rows = entries.map((entry) => rowOf(actor, entry))
  const columns = COLUMNS.map((column) => [column, rows.map((row) => row[column])])
  tx.send(insertAll({ ...Object.fromEntries(columns), ...sessionOf(actor) }))
  tx.notify(JOURNAL_TOPIC)
}

/** As `append`, and waits for the entry's number and time: for what is made of the entry. */
export async function appendReturning(
  tx: TenantTx,
  actor: Actor,
  entry: Entry,
): Promise<{ id: number; created_at: string }> {
  tx.notify(JOURNAL_TOPIC)
  const sent = tx.sendFor<{ id: number; created_at: string }>(
    insertReturning({ ...rowOf(actor, entry), ...sessionOf(actor) }),
  )
  const [made] = await sent.rows
  return made as { id: number; created_at: string }
}

/**
 * The values of an entry that is written by the statement which makes the change (`insertion`). Where
 * it wrote one, whoever sends it notifies of `JOURNAL_TOPIC`.
 */
export function rowOf({ user_id, user_email, origin }: Actor, entry: Entry): EntryRow {
  const { tenant_id, action, resource_type, resource_id = null, changes } = entry
  return {
    tenant_id,
    user_id,
    user_email,
    action,
    resource_type,
    resource_id: resource_id === null ? null : String(resource_id),
    changes: changes === undefined ? null : JSON.stringify(changes),
    ip: origin?.ip ?? null,
    user_agent: origin?.user_agent ?? null,
    request_id: origin?.request_id ?? null,
  }
}
