/** The SQL of console sessions: a refresh token that is used without being rotated. */
import { sql } from 'kysely'
import type { Origin } from '../../../platform/access/index.ts'
import type { TenantTx } from '../../../platform/db/index.ts'
import '../sessions/sessions.table.ts'

/** Returns what a refresh of a live console session is judged by. */
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

interface TokenUse extends Origin {
  hash: Buffer
  now: string
  idle_seconds: number
}

/**
 * Notes that a console session is in use. Locks the token before the session, as a rotation does. The session and the token then last for the whole idle limit again.
 * Returns false where the token is spent, or the session is over.
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
