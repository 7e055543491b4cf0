/** The SQL that deletes what is over, at most `limit` rows at a time. Each answers how many. */
import type { TenantTx } from '../../platform/db/index.ts'
import './sessions/sessions.table.ts'
import './recovery/account-tokens.table.ts'

export async function purgeRefreshTokens(
  tx: TenantTx,
  now: string,
  limit: number,
): Promise<number> {
  const result = await tx.db
    .deleteFrom('refresh_tokens')
    .where('token_hash', 'in', (eb) =>
      eb
        .selectFrom('refresh_tokens')
        .select('token_hash')
        .where('expires_at', '<', now)
        .limit(limit),
    )
    .executeTakeFirst()
  return Number(result.numDeletedRows)
}

/** Sessions that were ended, or came to their absolute end, before `before`. */
export async function purgeSessions(tx: TenantTx, before: string, limit: number): Promise<number> {
  const result = await tx.db
    .deleteFrom('sessions')
    .where('id', 'in', (eb) =>
      eb
        .selectFrom('sessions')
        .select('id')
        .where((or) => or.or([or('ended_at', '<', before), or('absolute_expires_at', '<', before)]))
        .limit(limit),
    )
    .executeTakeFirst()
  return Number(result.numDeletedRows)
}

export async function purgeAccountTokens(
  tx: TenantTx,
  now: string,
  limit: number,
): Promise<number> {
  const result = await tx.db
    .deleteFrom('account_tokens')
    .where('token_hash', 'in', (eb) =>
      eb
        .selectFrom('account_tokens')
        .select('token_hash')
        .where('expires_at', '<', now)
        .limit(limit),
    )
    .executeTakeFirst()
  return Number(result.numDeletedRows)
}
