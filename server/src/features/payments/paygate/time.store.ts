/** SQL that reads the database's clock, which all nodes share. */
import { sql } from 'kysely'
import type { TenantTx } from '../../../platform/db/index.ts'

/** Returns the database's time in milliseconds since the epoch. */
export async function databaseTime(tx: TenantTx): Promise<number> {
  const { rows } = await sql<{ now: number }>`
    select floor(extract(epoch from clock_timestamp()) * 1000)::bigint as now`.execute(tx.db)
  return rows[0]?.now ?? Number.NaN
}
