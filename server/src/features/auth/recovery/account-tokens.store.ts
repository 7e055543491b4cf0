import type { TenantTx } from '../../../platform/db/index.ts'
import type { TokenPurpose } from './account-tokens.table.ts'
import './account-tokens.table.ts'

export interface NewAccountToken {
  tenant_id: number
  user_id: number
  purpose: TokenPurpose
  token_hash: Buffer
  email: string
  expires_at: string
}

/** Stores a token. The user's previous token for the same purpose is replaced. */
export async function replaceToken(tx: TenantTx, token: NewAccountToken): Promise<void> {
  const { token_hash, email, expires_at } = token
  await tx.db
    .insertInto('account_tokens')
    .values(token)
    .onConflict((conflict) =>
      conflict.columns(['user_id', 'purpose']).doUpdateSet({ token_hash, email, expires_at }),
    )
    .execute()
}

export interface UsedToken {
  user_id: number
  email: string
  purpose: TokenPurpose
}

/** Deletes an unexpired token and returns its data. Only one of several concurrent callers gets a result. */
export function consumeToken(
  tx: TenantTx,
  purposes: readonly TokenPurpose[],
  hash: Buffer,
  now: string,
): Promise<UsedToken | undefined> {
  return tx.db
    .deleteFrom('account_tokens')
    .where('token_hash', '=', hash)
    .where('tenant_id', '=', tx.tenantId)
    .where('purpose', 'in', purposes)
    .where('expires_at', '>', now)
    .returning(['user_id', 'email', 'purpose'])
    .executeTakeFirst()
}

export interface TokenOwner {
  user_id: number
  /** Null for a user who has not chosen a password yet. */
  password_hash: string | null
}

/** Finds the user of a token. Returns undefined if the token is unknown or expired. */
export function findTokenOwner(
  tx: TenantTx,
  purposes: readonly TokenPurpose[],
  hash: Buffer,
  now: string,
): Promise<TokenOwner | undefined> {
  return tx.db
    .selectFrom('account_tokens')
    .innerJoin('users', 'users.id', 'account_tokens.user_id')
    .select(['account_tokens.user_id', 'users.password_hash'])
    .where('account_tokens.token_hash', '=', hash)
    .where('account_tokens.tenant_id', '=', tx.tenantId)
    .where('account_tokens.purpose', 'in', purposes)
    .where('account_tokens.expires_at', '>', now)
    .executeTakeFirst()
}

/** Deletes all mailed tokens of a user, because a change of the account has invalidated them. */
export async function voidTokens(
  tx: TenantTx,
  user: { id: number; tenant_id: number },
): Promise<void> {
  await tx.db
    .deleteFrom('account_tokens')
    .where('user_id', '=', user.id)
    .where('tenant_id', '=', user.tenant_id)
    .execute()
}
