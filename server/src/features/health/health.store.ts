import { sql } from 'kysely'
import type { TenantTx } from '../../platform/db/index.ts'

/** Returns the version of PostgreSQL, for example `18.4`. */
export async function serverVersion(tx: TenantTx): Promise<string> {
  const { rows } = await sql<{ version: string }>`
    select split_part(current_setting('server_version'), ' ', 1) as version`.execute(tx.db)
  return rows[0]?.version ?? 'unknown'
}
