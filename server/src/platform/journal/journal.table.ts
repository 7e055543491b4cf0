import type { Generated, GeneratedAlways } from 'kysely'
import type { RestoreRules } from '../restore-rule.ts'

/** An entry as the journal holds it (decisions §4). */
export interface JournalTable {
  id: Generated<number>
  xid: Generated<string>
  /** Of `resource_id`, for the index; made by the database. */
  resource_hash: GeneratedAlways<number | null>
  /** Somebody saw a record, and nothing changed: no event, and nothing for consumers. */
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
}

/** A record of an entry that tells of several, by the entry's time and number. */
export interface JournalResourcesTable {
  tenant_id: number
  resource_type: string
  resource_id: number
  created_at: string
  entry_id: number
}

/** How far a consumer has come. */
export interface JournalConsumersTable {
  consumer: string
  xid: string
  id: number
  updated_at: Generated<string>
  /** Since when its work fails, and with what; null once it got on. */
  failing_since: string | null
  error: string | null
}

/** Refused calls of one session, operation and reason that are not in the journal yet. */
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
  /** Where the first of them came from, and under which number. */
  ip: string
  user_agent: string | null
  request_id: string
}

/** The actions that any node may have written. */
export interface JournalActionsTable {
  action: string
}

export const JOURNAL_TABLES = {
  journal: 'kept',
  journal_consumers: 'kept',
  refusals: 'kept',
  journal_resources: 'kept',
  journal_actions: 'made anew',
} as const satisfies RestoreRules

declare module '../db/database.ts' {
  interface Database {
    journal: JournalTable
    journal_actions: JournalActionsTable
    journal_resources: JournalResourcesTable
    refusals: RefusalsTable
    journal_consumers: JournalConsumersTable
  }
}
