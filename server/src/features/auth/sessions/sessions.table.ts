import type { Generated } from 'kysely'
import type { RestoreRules } from '../../../platform/feature/restore-rule.ts'

export interface SessionsTable {
  id: string
  tenant_id: number
  user_id: number
  signed_in_from: string | null
  ip: string | null
  user_agent: string | null
  created_at: string
  last_used_at: string
  idle_seconds: number
  is_console: Generated<boolean>
  confirmed_until: string | null
  expires_at: string
  absolute_expires_at: string
  ended_at: string | null
  end_reason: string | null
}

export interface RefreshTokensTable {
  token_hash: Buffer
  tenant_id: number
  session_id: string
  issued_at: string
  expires_at: string
  spent_at: string | null
  successor_salt: Buffer | null
}

export const SESSION_TABLES = {
  // A restore ends the current sessions. It keeps their rows, because they show the networks at which a user is known.
  sessions: 'closed',
  refresh_tokens: 'ended',
} as const satisfies RestoreRules

declare module '../../../platform/db/database.ts' {
  interface Database {
    sessions: SessionsTable
    refresh_tokens: RefreshTokensTable
  }
}

declare module '../../../platform/db/topics.ts' {
  interface Topics {
    session: `session:${string}`
  }
}
