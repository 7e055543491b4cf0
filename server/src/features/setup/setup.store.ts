/** The first start's SQL. */
import { sql } from 'kysely'
import type { TenantTx } from '../../platform/db/index.ts'

/** Any number will do, as long as all nodes use the same. */
const LOCK = 7_261_937

/** Lets one node at a time set up what is missing, until its transaction ends. */
export async function lockSetup(tx: TenantTx): Promise<void> {
  await sql`select pg_advisory_xact_lock(${LOCK})`.execute(tx.db)
}
