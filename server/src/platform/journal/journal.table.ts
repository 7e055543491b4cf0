import type { Generated, GeneratedAlways } from 'kysely'
import type { RestoreRules } from '../feature/restore-rule.ts'

/** An entry in the journal (decisions §4). */
export interface JournalTable {
  id: Generated<number>
  xid: Generated<string>
  /** A hash of `resource_id` for the index. The database generates it. */
  resource_hash: GeneratedAlways<number | null>
  /** True if a user read a record without changing it. Accesses are not events, so consumers skip them. */
  is_access: Generated<boolean>
  tenant_id: number | null
  user_id: number | null
  user_email: string | null
  action: string
  resource_type: string
  resource_id: string | null
  changes: unknown
  ip: string | null
  user_agent: string | null
  request_id: string | null
  created_at: Generated<string>
  /** The mark of the entry (see `marks.ts`). */
  who_salt: Buffer | null
  what_salt: Buffer | null
  mac: Buffer | null
}

/** When this database began to write marks. A database without earlier entries has no row. */
export interface JournalMarksTable {
  since: string
}

/** The time up to which entries of a tenant, or of tenant 0 those without one, were removed. */
export interface JournalPruningsTable {
  tenant_id: number
  until: string
}

/** A record that an entry about several records refers to. The entry is identified by its time and id. */
export interface JournalResourcesTable {
  tenant_id: number
  resource_type: string
  resource_id: number
  created_at: string
  entry_id: number
}

export interface JournalConsumersTable {
  consumer: string
  xid: string
  id: number
  updated_at: Generated<string>
  /** When the consumer's current failures began, or null after a success. */
  failing_since: string | null
  error: string | null
  /** The lease of a forwarder: its number, and its end. */
  epoch: Generated<number>
  leased_until: string | null
  /** The number of entries that a forwarder has delivered up to its position. */
  sequence: Generated<number>
}

/** The calls of one session that were refused for one operation and reason, and are not in the journal yet. */
export interface RefusalsTable {
  tenant_id: number
  session_id: string
  operation: string
  code: string
  count: number
  first_at: string
  last_at: string
  user_id: number
  user_email: string
  /** The source address, user agent and request id of the first refused call. */
  ip: string
  user_agent: string | null
  request_id: string
}

/** The actions that any node of the cluster may write. */
export interface JournalActionsTable {
  action: string
}

/** Entries that a previous server had acknowledged and a new server does not have. */
export interface LostWritesTable {
  id: Generated<number>
  /** The identity of the server that does not have the entries. */
  server: string
  noticed_at: Generated<string>
  entries: unknown
  closed_at: Generated<string | null>
}

export const JOURNAL_TABLES = {
  journal: 'kept',
  journal_consumers: 'kept',
  refusals: 'kept',
  journal_marks: 'kept',
  journal_prunings: 'kept',
  journal_resources: 'kept',
  journal_actions: 'rebuilt',
  lost_writes: 'never touched',
} as const satisfies RestoreRules

declare module '../db/database.ts' {
  interface Database {
    journal: JournalTable
    journal_marks: JournalMarksTable
    journal_prunings: JournalPruningsTable
    journal_actions: JournalActionsTable
    journal_resources: JournalResourcesTable
    lost_writes: LostWritesTable
    refusals: RefusalsTable
    journal_consumers: JournalConsumersTable
  }
}
