/** SQL queries for the second factor: the secret, the last used time step and the recovery codes. */
import { sql } from 'kysely'
import type { TenantTx } from '../../../platform/db/index.ts'
import { setTotpEnabledAt } from '../../users/index.ts'
import './second-factor.table.ts'

export interface Factor {
  sealed_secret: Buffer
  confirmed_at: string | null
}

/** Finds a user's factor and locks the row until the transaction ends. */
export function lockFactor(tx: TenantTx, userId: number): Promise<Factor | undefined> {
  return tx.db
    .selectFrom('second_factors')
    .select(['sealed_secret', 'confirmed_at'])
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tx.tenantId)
    .forUpdate()
    .executeTakeFirst()
}

/** Stores an unconfirmed secret, unless the user has a confirmed one. Returns whether the secret was stored. */
export async function offerSecret(
  tx: TenantTx,
  user: { user_id: number; tenant_id: number },
  sealed_secret: Buffer,
): Promise<boolean> {
  const result = await tx.db
    .insertInto('second_factors')
    .values({ ...user, sealed_secret, confirmed_at: null })
    .onConflict((conflict) =>
      conflict
        .column('user_id')
        .doUpdateSet({ sealed_secret, last_step: 0 })
        .where('second_factors.confirmed_at', 'is', null),
    )
    .executeTakeFirst()
  return result.numInsertedOrUpdatedRows === 1n
}

/**
 * Records that a time step was used. Returns false if the same or a later step was used before. If two callers use one
 * code at the same time, only one succeeds.
 */
export async function takeStep(tx: TenantTx, userId: number, step: number): Promise<boolean> {
  const result = await tx.db
    .updateTable('second_factors')
    .set({ last_step: step })
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tx.tenantId)
    .where('last_step', '<', step)
    .executeTakeFirst()
  return result.numUpdatedRows === 1n
}

/** Confirms the factor and stores its recovery codes. From then on, sign-in requires the factor. */
export async function confirmSecondFactor(
  tx: TenantTx,
  user: { user_id: number; tenant_id: number },
  now: string,
  recoveryHashes: Buffer[],
): Promise<void> {
  const { user_id, tenant_id } = user
  await tx.db
    .updateTable('second_factors')
    .set({ confirmed_at: now })
    .where('user_id', '=', user_id)
    .where('tenant_id', '=', tenant_id)
    .execute()
  await setTotpEnabledAt(tx, { id: user_id, tenant_id }, now)
  await tx.db
    .deleteFrom('recovery_codes')
    .where('user_id', '=', user_id)
    .where('tenant_id', '=', tenant_id)
    .execute()
  await tx.db
    .insertInto('recovery_codes')
    .values(recoveryHashes.map((code_hash) => ({ user_id, tenant_id, code_hash, used_at: null })))
    .execute()
}

/** Deletes the factor and recovery codes. Returns whether it was confirmed or only offered; undefined without one. */
export async function remove(
  tx: TenantTx,
  user: { user_id: number; tenant_id: number },
): Promise<'confirmed' | 'offered' | undefined> {
  const { user_id, tenant_id } = user
  // Locks the user's row first, in the same order as sign-in, to prevent a deadlock.
  await setTotpEnabledAt(tx, { id: user_id, tenant_id }, null)
  const removed = await tx.db
    .deleteFrom('second_factors')
    .where('user_id', '=', user_id)
    .where('tenant_id', '=', tenant_id)
    .returning('confirmed_at')
    .executeTakeFirst()
  await tx.db
    .deleteFrom('recovery_codes')
    .where('user_id', '=', user_id)
    .where('tenant_id', '=', tenant_id)
    .execute()
  return removed && (removed.confirmed_at ? 'confirmed' : 'offered')
}

/** Marks a recovery code as used. If several callers use the code at the same time, only one gets true. */
export async function takeRecoveryCode(
  tx: TenantTx,
  userId: number,
  hash: Buffer,
  now: string,
): Promise<boolean> {
  const result = await tx.db
    .updateTable('recovery_codes')
    .set({ used_at: now })
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tx.tenantId)
    .where('code_hash', '=', hash)
    .where('used_at', 'is', null)
    .executeTakeFirst()
  return result.numUpdatedRows === 1n
}

export async function countRecoveryCodes(tx: TenantTx, userId: number): Promise<number> {
  const { count } = await tx.db
    .selectFrom('recovery_codes')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tx.tenantId)
    .where('used_at', 'is', null)
    .executeTakeFirstOrThrow()
  return count
}

/** Returns whether the tenant requires a second factor for the user's role (`settings.require_totp`). */
export async function isDemanded(tx: TenantTx, userId: number): Promise<boolean> {
  const row = await tx.db
    .selectFrom('users')
    .innerJoin('tenants', 'tenants.id', 'users.tenant_id')
    .select(
      sql<boolean>`coalesce(tenants.settings -> 'require_totp', '[]') ? users.role`.as('demanded'),
    )
    .where('users.id', '=', userId)
    .where('users.tenant_id', '=', tx.tenantId)
    .executeTakeFirst()
  return row?.demanded ?? false
}
