/** Lists the outdated rows that a job deletes: sessions, tokens, signing keys and failure counters. */
import { sql } from 'kysely'
import { DAY } from '../../lib/clock.ts'
import type { OutdatedRows } from '../../platform/feature/outdated.ts'
import { OUTDATED_THROTTLES } from '../../platform/throttle/index.ts'
import './sessions/sessions.table.ts'
import './recovery/account-tokens.table.ts'

/** How long ended sessions are kept. They show a user's known networks and help to investigate misuse. */
const SESSIONS_KEPT = 30 * DAY

const expired = (table: string): OutdatedRows => ({
  table,
  key: ['token_hash'],
  keptMs: 0,
  isBefore: (at) => sql`expires_at < ${at}::timestamptz`,
})

/** Expired sessions: those that were ended, and those that have reached their maximum lifetime. */
const SESSIONS: OutdatedRows = {
  table: 'sessions',
  key: ['id'],
  keptMs: SESSIONS_KEPT,
  isBefore: (at) =>
    sql`(ended_at < ${at}::timestamptz or absolute_expires_at < ${at}::timestamptz)`,
}

/** Retired signing keys. Every access token that such a key signed expires within minutes. */
const SIGNING_KEYS: OutdatedRows = {
  table: 'signing_keys',
  key: ['kid'],
  keptMs: DAY,
  isBefore: (at) => sql`retired_at < ${at}::timestamptz`,
}

export const OUTDATED_ACCOUNT_ROWS: readonly OutdatedRows[] = [
  expired('refresh_tokens'),
  SESSIONS,
  SIGNING_KEYS,
  expired('account_tokens'),
  OUTDATED_THROTTLES,
]
