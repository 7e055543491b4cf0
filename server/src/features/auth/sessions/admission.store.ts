/** The SQL statement that records a sign-in and starts the session in one round trip. */
import { type RawBuilder, sql } from 'kysely'
import type { Role } from '../../../lib/roles.ts'
import { type SentStatement, statement, type TenantTx } from '../../../platform/db/index.ts'
import { type EntryRow, insertion, JOURNAL_TOPIC } from '../../../platform/journal/index.ts'
import { type SigningIn, signingIn } from '../../users/index.ts'
import type { NewSession } from './sessions.store.ts'

/** The state of the user at the time of the lookup. The statement starts no session if the state has changed since. */
interface Found {
  password_hash: string
  /** The user's role, which determines how long the session may last. */
  role: Role
}

type Admission = Omit<NewSession, 'id'> & Found & SigningIn & EntryRow & { session_id: string }

/** Fields of the user that may have changed between the lookup and the start of the session. */
export interface Admitted {
  full_name: string
  must_change_password: boolean
}

const OF_USER: Partial<Record<keyof EntryRow, RawBuilder<unknown>>> = {
  tenant_id: sql.ref('signed_in.tenant_id'),
  user_id: sql.ref('signed_in.id'),
}

/** A user with fewer live sessions than this stays below the limit, even if several sign-ins run at the same time. */
const FEW_SESSIONS = sql.lit(25)

const admission = statement<Admission>((value) => {
  const entry = insertion((column) => OF_USER[column] ?? value(column), sql`from signed_in`)
  const live = sql`select from sessions s
    where s.tenant_id = users.tenant_id and s.user_id = users.id and s.ended_at is null
      and s.expires_at > ${value('now')} limit ${FEW_SESSIONS}`
  const stillHolds = sql`users.role = ${value('role')} and users.totp_enabled_at is null
    and (select count(*) from (${live}) live) < ${FEW_SESSIONS}`
  return sql`
    with ${signingIn(value, { hash: sql`password_hash`, stillHolds })}, started as (
      insert into sessions (id, tenant_id, user_id, signed_in_from, ip, user_agent, created_at,
        last_used_at, is_console, idle_seconds, expires_at, absolute_expires_at)
      select ${value('session_id')}, signed_in.tenant_id, signed_in.id, ${value('signed_in_from')},
        ${value('ip')}, ${value('user_agent')}, ${value('now')}, ${value('now')},
        ${value('is_console')}, ${value('idle_seconds')}, ${value('expires_at')},
        ${value('absolute_expires_at')}
      from signed_in returning id, tenant_id, created_at, expires_at
    ), issued as (
      insert into refresh_tokens (token_hash, tenant_id, session_id, issued_at, expires_at)
      select ${value('token_hash')}, tenant_id, id, created_at, expires_at from started
    ), entered as (${entry})
    select full_name, must_change_password from signed_in`
})

/**
 * Records the sign-in of a user without a second factor, starts the session and writes the journal entry. Does nothing
 * if the user has changed or has many sessions. Uses one statement, so that the commit can be sent without waiting for
 * a result.
 */
export function admit(
  tx: TenantTx,
  { id: session_id, ...session }: NewSession,
  { password_hash, role }: Found,
  entry: EntryRow,
): SentStatement<Admitted> {
  const { tenant_id, user_id: id } = session
  const found = { id, tenant_id, password_hash, role }
  return tx.sendFor(admission({ ...entry, ...session, ...found, session_id }), JOURNAL_TOPIC)
}
