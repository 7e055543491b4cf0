/** The SQL of break-glass grants. */
import { sql } from 'kysely'
import type { Caller } from '../../../platform/access/index.ts'
import { ofScope, type TenantTx } from '../../../platform/db/index.ts'
import '../patients.table.ts'

/**
 * Whether the caller still has the role of their session, and keeps it until the transaction ends: a block
 * that comes now ends what is granted here. Of a user's grants one is given at a time.
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

/** When the user's latest grants were given since then, ISO 8601, the earliest first. */
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

/** An id for a grant to be: its reason is sealed for its row. */
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
