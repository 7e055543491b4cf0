/** What sign-in no longer needs: sessions, tokens and counts that are over. */
import { sql } from 'kysely'
import { DAY } from '../../lib/clock.ts'
import type { Outdated } from '../../platform/outdated.ts'
import { OUTDATED_THROTTLES } from '../../platform/throttle/index.ts'
import './sessions/sessions.table.ts'
import './recovery/account-tokens.table.ts'

/** Ended sessions stay a while: the list of known addresses and the tracing of a misuse need them. */
const SESSIONS_KEPT = 30 * DAY

const expired = (table: string): Outdated => ({
  table,
  key: ['token_hash'],
  keptMs: 0,
  isBefore: (at) => sql`expires_at < ${at}::timestamptz`,
})

/** Those that were ended, or came to their absolute end. */
const SESSIONS: Outdated = {
  table: 'sessions',
  key: ['id'],
  keptMs: SESSIONS_KEPT,
  isBefore: (at) =>
    sql`(ended_at < ${at}::timestamptz or absolute_expires_at < ${at}::timestamptz)`,
}

/** Retired signing keys. Tokens that they signed expire within minutes. */
const SIGNING_KEYS: Outdated = {
  table: 'signing_keys',
  key: ['kid'],
  keptMs: DAY,
  isBefore: (at) => sql`retired_at < ${at}::timestamptz`,
}

export const OUTDATED: readonly Outdated[] = [
  expired('refresh_tokens'),
  SESSIONS,
  SIGNING_KEYS,
  expired('account_tokens'),
  OUTDATED_THROTTLES,
]
