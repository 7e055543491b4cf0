/** Writes journal entries: one per change, in the transaction of that change. */

import { type RawBuilder, sql } from 'kysely'
import type { Caller, Origin } from '../access/index.ts'
import {
  byteaArray,
  type EntryKey,
  MAX_RECENT,
  type PgConnection,
  type RecentEntry,
  type Scopes,
  type SentStatement,
  statement,
  type TenantTx,
} from '../db/index.ts'
import { ACTIONS, type Action } from './actions.ts'
import './journal.table.ts'
import { MARK_COLUMNS, type Mark, newMark } from './marks.ts'

/** The notification topic for every new journal entry. */
export const JOURNAL_TOPIC = 'journal'

/** The author of a change, as far as known. Changes by the system have no user and no origin. */
export interface Actor {
  user_id: number | null
  user_email: string | null
  origin: Origin | null
  /** The session of the request. The database rejects entries if this session has ended. */
  session_id?: string
}

/** The service itself as an actor, for schedules, startup and the command line. */
export const SYSTEM: Actor = { user_id: null, user_email: null, origin: null }

/** Returns the caller as an actor. Entries of this actor require that the caller's session is still valid. */
export function actorOf(caller: Caller): Actor {
  const { user_id, email: user_email, origin, session_id } = caller
  return { user_id, user_email, origin, session_id }
}

/** Returns the actor for a background job. Its entries are accepted even after the user's session has ended. */
export function ordererOf({ session_id: _, ...actor }: Actor): Actor {
  return actor
}

export interface NewEntry {
  action: Action
  /** The tenant of the record. Null if there is none, for example for a sign-in to an unknown tenant. */
  tenant_id: number | null
  resource_type: string
  resource_id?: number | string | null
  /** Details of the entry. For a change, usually the result of `changesBetween`. */
  changes?: Record<string, unknown>
}

/** The columns of an entry that the application writes. The database generates the others. */
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
  who_salt: Buffer | null
  what_salt: Buffer | null
  mac: Buffer | null
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
  ...MARK_COLUMNS,
] as const satisfies (keyof EntryRow)[]
/** The columns of an insertion, in order. */
export const NAMES = sql.join(COLUMNS.map((column) => sql.ref(column)))

/**
 * Returns SQL that inserts an entry, to combine with its change. @param expressionOf the SQL for each column @param
 * from the source of rows, such as `sql\`from used\``. Each row adds an entry.
 */
export function insertion(
  expressionOf: (column: keyof EntryRow) => RawBuilder<unknown>,
  from: RawBuilder<unknown> = sql``,
): RawBuilder<unknown> {
  return sql`insert into journal (${NAMES})
    select ${sql.join(COLUMNS.map(expressionOf))} ${from}`
}

interface InSession {
  session_id: string | null
}

const sessionOf = ({ session_id }: Actor): InSession => ({ session_id: session_id ?? null })

/** Checking the session in the inserting statement costs no round trip, and no caller can forget it. */
const whileSessionHolds = (value: (name: 'session_id') => RawBuilder<unknown>) =>
  sql`where session_holds(${value('session_id')}::uuid)`

const RECENT = sql`id, created_at, tenant_id, action, resource_type, resource_id`

const insert = statement<EntryRow & InSession>(
  (value) => sql`${insertion(value, whileSessionHolds(value))} returning ${RECENT}`,
)
const hold = statement<InSession>(
  (value) => sql`select session_holds(${value('session_id')}::uuid)`,
)

/** Appends an entry that commits with its change. Does not wait. The commit fails if the actor's session has ended. */
export async function append(tx: TenantTx, actor: Actor, entry: NewEntry): Promise<void> {
  send(tx, actor, entry)
}

/** Actions without a change, which would displace real changes. Some commit without waiting for the disk. */
const NOT_REMEMBERED: ReadonlySet<Action> = new Set(['auth.login_failed', 'access.refused'])

const isRemembered = ({ action }: NewEntry) => !NOT_REMEMBERED.has(action)

function send(tx: TenantTx, actor: Actor, entry: NewEntry): SentStatement<RecentEntry> {
  tx.notify(JOURNAL_TOPIC)
  const query = insert({ ...rowOf(tx.entryKey, actor, entry), ...sessionOf(actor) })
  return isRemembered(entry) ? tx.sendEntries(query) : tx.sendFor(query)
}

const TYPES: Record<keyof EntryRow, string> = {
  tenant_id: 'bigint',
  user_id: 'bigint',
  user_email: 'text',
  action: 'text',
  resource_type: 'text',
  resource_id: 'text',
  ip: 'text',
  user_agent: 'text',
  changes: 'jsonb',
  request_id: 'uuid',
  who_salt: 'bytea',
  what_salt: 'bytea',
  mac: 'bytea',
}

/** Makes the transaction fail if the actor's session has ended. For transactions that append no entry. */
export function requireSession(tx: TenantTx, actor: Actor): void {
  tx.send(hold(sessionOf(actor)))
}

/** Many rows as one array for each column, the marks in PostgreSQL's binary format. */
export type EntryArrays = { [C in keyof EntryRow]: EntryRow[C][] | Buffer }

export function arraysOf(rows: readonly EntryRow[]): EntryArrays {
  const arrays = COLUMNS.map((column) => [column, rows.map((row) => row[column])])
  const marks = MARK_COLUMNS.map((column) => [column, byteaArray(rows.map((row) => row[column]))])
  return Object.fromEntries([...arrays, ...marks])
}

/** Returns the SQL of the rows that `arraysOf` has made columns of. */
export const rowsFrom = (value: (column: keyof EntryRow) => RawBuilder<unknown>) =>
  sql`unnest(${sql.join(
    COLUMNS.map((column) => sql`${value(column)}::${sql.raw(TYPES[column])}[]`),
  )}) as e (${NAMES})`

/** Appends entries. Returns those for the node to remember, at most `MAX_RECENT` of them. */
const insertAll = statement<EntryArrays & InSession>((value) => {
  const entries = insertion(
    (column) => sql.ref(`e.${column}`),
    sql`from ${rowsFrom(value)} ${whileSessionHolds(value)}`,
  )
  return sql`with entered as (${entries} returning ${RECENT})
    select ${RECENT} from entered order by id desc limit ${sql.lit(MAX_RECENT)}`
})

const insertionOfAll = (key: EntryKey, actor: Actor, entries: readonly NewEntry[]) =>
  insertAll({ ...arraysOf(entries.map((entry) => rowOf(key, actor, entry))), ...sessionOf(actor) })

/** Appends many entries with one statement, otherwise like `append`. */
export function appendAll(tx: TenantTx, actor: Actor, entries: readonly NewEntry[]): void {
  if (entries.length === 0) return
  const query = insertionOfAll(tx.entryKey, actor, entries)
  if (entries.every(isRemembered)) tx.sendEntries(query)
  else tx.send(query)
  tx.notify(JOURNAL_TOPIC)
}

/** Appends entries on the connection of a restore, which notifies all nodes in another way. */
export async function appendOn(
  client: PgConnection,
  key: EntryKey,
  actor: Actor,
  entries: readonly NewEntry[],
): Promise<void> {
  const { sql: text, parameters } = insertionOfAll(key, ordererOf(actor), entries)
  if (entries.length > 0) await client.query(text, [...parameters])
}

/** Appends an entry and waits for the id and time that the database generates. */
export async function appendReturning(
  tx: TenantTx,
  actor: Actor,
  entry: NewEntry,
): Promise<{ id: number; created_at: string }> {
  const [made] = await send(tx, actor, entry).rows
  return made as { id: number; created_at: string }
}

/** Returns the column values for `insertion`. If the statement has written, the caller must notify `JOURNAL_TOPIC`. */
export function rowOf(
  { current: key }: EntryKey,
  { user_id, user_email, origin }: Actor,
  entry: NewEntry,
): EntryRow {
  const { tenant_id, action, resource_type, resource_id = null } = entry
  const changes = entry.changes === undefined ? null : JSON.stringify(entry.changes)
  const columns = {
    tenant_id,
    user_id,
    user_email,
    action,
    resource_type,
    resource_id: resource_id === null ? null : String(resource_id),
    ip: origin?.ip ?? null,
    user_agent: origin?.user_agent ?? null,
    request_id: origin?.request_id ?? null,
  }
  // Reads the changes as the sealer will, in which dates are texts.
  const stored = { ...columns, changes: changes === null ? null : JSON.parse(changes) }
  return { ...columns, changes, ...(key ? newMark(key, stored) : NO_MARK) }
}

const NO_MARK: Mark = { who_salt: null, what_salt: null, mac: null }

/** Returns a journal entry about a row. The row becomes the entry's resource, and its tenant the entry's tenant. */
export function journalEntry<A extends Action>(
  action: A,
  resource_type: string,
  { id, tenant_id }: { id: number | string | null; tenant_id: number | null },
) {
  return { action, tenant_id, resource_type, resource_id: id }
}

/** Registers the actions of this release before any entry uses them, so that older nodes accept them. */
export async function enterActions(db: Scopes): Promise<void> {
  await db.acrossTenants(async (tx) => {
    tx.send(
      sql`insert into journal_actions select unnest(${Object.keys(ACTIONS)}::text[])
        on conflict do nothing`.compile(tx.db),
    )
  })
}
