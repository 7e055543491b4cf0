import { sql } from 'kysely'
import type { Caller } from '../../../platform/access/index.ts'
import { ofScope, type PgConnection, type TenantTx } from '../../../platform/db/index.ts'
import '../patients.table.ts'

/**
 * Returns whether the user is active and still has the role of their session. Locks the user's row until the
 * transaction ends. If an administrator blocks the user at the same time, the block waits for the lock and then ends
 * the new grant too. The lock also prevents two concurrent grants of a user.
 */
export async function lockGrantee(
  tx: TenantTx,
  { user_id, role }: Pick<Caller, 'user_id' | 'role'>,
): Promise<boolean> {
  const row = await tx.db
    .selectFrom('users')
    .select('id')
    .where('id', '=', user_id)
    .where(ofScope(tx, 'tenant_id'))
    .where('role', '=', role)
    .where('is_active', '=', true)
    .forNoKeyUpdate()
    .executeTakeFirst()
  return row !== undefined
}

/** Lists the times of the grants that the user received after `since` (ISO 8601), earliest first. */
export async function listGrantedSince(
  tx: TenantTx,
  userId: number,
  since: string,
): Promise<string[]> {
  const rows = await tx.db
    .selectFrom('patient_grants')
    .select('granted_at')
    .where(ofScope(tx, 'tenant_id'))
    .where('user_id', '=', userId)
    .where('granted_at', '>', since)
    .orderBy('granted_at')
    .execute()
  return rows.map(({ granted_at }) => granted_at)
}

/** Reserves the id before the insertion, because the encryption binds the reason to the id of its row. */
export async function nextGrantId(tx: TenantTx): Promise<number> {
  const { rows } = await sql<{ id: number }>`
    select nextval(pg_get_serial_sequence('patient_grants', 'id')) as id`.execute(tx.db)
  return (rows[0] as { id: number }).id
}

export interface NewGrant {
  id: number
  tenant_id: number
  patient_id: number
  user_id: number
  purpose: string
  sealed_reason: Buffer
  granted_at: string
  expires_at: string
}

export async function insertGrant(tx: TenantTx, grant: NewGrant): Promise<void> {
  await tx.db.insertInto('patient_grants').values(grant).execute()
}

/** Ends all active break-glass grants, during a restore. */
export async function endGrants(client: PgConnection): Promise<void> {
  await client.query(
    'update patient_grants set ended_at = now() where ended_at is null and expires_at > now()',
  )
}
