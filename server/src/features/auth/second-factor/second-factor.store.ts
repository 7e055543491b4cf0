/** The SQL of the second factor: its secret, its last step, its recovery codes. */
import { sql } from 'kysely'
import type { TenantTx } from '../../../platform/db/index.ts'
import { setTotpEnabledAt } from '../../users/index.ts'
import './second-factor.table.ts'

export interface Factor {
  sealed_secret: Buffer
  confirmed_at: string | null
}

/** A user's factor, held until the transaction ends. */
export function lockFactor(tx: TenantTx, userId: number): Promise<Factor | undefined> {
  return tx.db
    .selectFrom('second_factors')
    .select(['sealed_secret', 'confirmed_at'])
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tx.tenantId)
    .forUpdate()
    .executeTakeFirst()
}

/** Keeps a secret that is not confirmed yet; a confirmed one stays. Returns whether it was kept. */
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

/** Takes a code's time step, if none at or after it was taken: of two uses of a code one wins. */
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

/** Confirms the factor: from now on sign-in asks for it. */
export async function confirm(
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

/** Takes the factor away with its codes. Returns what it was; undefined when there was none. */
export async function remove(
  tx: TenantTx,
  user: { user_id: number; tenant_id: number },
): Promise<'confirmed' | 'offered' | undefined> {
  const { user_id, tenant_id } = user
  // The user first, as sign-in does: of the two one waits, and neither for the other.
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

/** Uses a recovery code up: of any number at once exactly one gets true. */
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

/** How many recovery codes the user has left. */
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

/** Whether the user's tenant demands a second factor of their role (`settings.require_totp`). */
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
