/** The SQL of break-glass access within a restore. */
import type { Connection } from '../../../platform/db/index.ts'

/** Ends the access that break-glass has opened. */
export async function endGrants(client: Connection): Promise<void> {
  await client.query(
    'update patient_grants set ended_at = now() where ended_at is null and expires_at > now()',
  )
}
