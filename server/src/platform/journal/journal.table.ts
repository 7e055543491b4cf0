import type { Generated } from 'kysely'

/** An entry as the journal holds it (decisions §4). */
export interface JournalTable {
  id: Generated<number>
  xid: Generated<string>
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

/** How far a reader has come. */
export interface JournalReadersTable {
  reader: string
  xid: string
  id: number
  updated_at: Generated<string>
}

declare module '../db/database.ts' {
  interface Database {
    journal: JournalTable
    journal_readers: JournalReadersTable
  }
}
