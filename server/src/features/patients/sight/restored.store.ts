/** The SQL statement that ends all break-glass access during a restore. */
import type { PgConnection } from '../../../platform/db/index.ts'

/** Ends all active break-glass grants. */
export async function endGrants(client: PgConnection): Promise<void> {
  await client.query(
    'update patient_grants set ended_at = now() where ended_at is null and expires_at > now()',
  )
}
