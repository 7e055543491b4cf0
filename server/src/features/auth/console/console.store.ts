/** SQL queries for console sessions. Such a session can be refreshed without rotating its refresh token. */
import { sql } from 'kysely'
import type { Caller, Origin } from '../../../platform/access/index.ts'
import type { TenantTx } from '../../../platform/db/index.ts'
import '../sessions/sessions.table.ts'

/** Finds the data that decides whether a console session that has not ended can be refreshed. */
export function findConsoleToken(tx: TenantTx, hash: Buffer) {
  return tx.db
    .selectFrom('refresh_tokens')
    .innerJoin('sessions', 'sessions.id', 'refresh_tokens.session_id')
    .innerJoin('tenants', 'tenants.id', 'sessions.tenant_id')
    .select([
      'sessions.id as session_id',
      'sessions.last_used_at',
      'refresh_tokens.issued_at',
      'refresh_tokens.spent_at',
      sql<unknown>`tenants.settings -> 'idle_minutes'`.as('idle_setting'),
    ])
    .where('refresh_tokens.token_hash', '=', hash)
    .where('refresh_tokens.tenant_id', '=', tx.tenantId)
    .where('sessions.is_console', '=', true)
    .where('sessions.ended_at', 'is', null)
    .executeTakeFirst()
}

/** Finds whether a live session is one of the console, and until when it is confirmed. */
export function findConfirmation(tx: TenantTx, { tenant_id, user_id, session_id }: Caller) {
  return tx.db
    .selectFrom('sessions')
    .select(['is_console', 'confirmed_until'])
    .where('id', '=', session_id)
    .where('tenant_id', '=', tenant_id)
    .where('user_id', '=', user_id)
    .where('ended_at', 'is', null)
    .executeTakeFirst()
}

export async function confirmSession(
  tx: TenantTx,
  { tenant_id, user_id, session_id }: Caller,
  confirmed_until: string,
): Promise<void> {
  await tx.db
    .updateTable('sessions')
    .set({ confirmed_until })
    .where('id', '=', session_id)
    .where('tenant_id', '=', tenant_id)
    .where('user_id', '=', user_id)
    .where('is_console', '=', true)
    .execute()
}

interface TokenUse extends Origin {
  hash: Buffer
  now: string
  idle_seconds: number
}

/**
 * Records that a console session was used, and extends the session and its token by the idle limit. Locks the token
 * before the session, in the same order as a rotation. Returns false if the token was already rotated or the session
 * has ended.
 */
export async function useConsoleToken(
  tx: TenantTx,
  { hash, now, idle_seconds, ip, user_agent }: TokenUse,
): Promise<boolean> {
  const used = await sql<{ id: string }>`
    with token as materialized (
      select session_id, tenant_id, token_hash from refresh_tokens
      where token_hash = ${hash} and tenant_id = ${tx.tenantId} and spent_at is null
      for update
    ), used as (
      update sessions s set last_used_at = ${now}, ip = ${ip}, user_agent = ${user_agent},
        idle_seconds = ${idle_seconds}, expires_at = least(
          ${now}::timestamptz + make_interval(secs => ${idle_seconds}), s.absolute_expires_at)
      from token t
      where s.id = t.session_id and s.tenant_id = t.tenant_id
        and s.ended_at is null and s.expires_at > ${now}
      returning s.id, s.expires_at
    )
    update refresh_tokens t set expires_at = used.expires_at
    from used where t.token_hash = ${hash} and t.tenant_id = ${tx.tenantId} and t.spent_at is null
    returning used.id`.execute(tx.db)
  return used.rows.length > 0
}
