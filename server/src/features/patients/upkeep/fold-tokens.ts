/**
 * Rebuilds search tokens that an earlier version of the folding rules produced. Each batch is one transaction per
 * tenant, so a later run continues an interrupted rebuild with the remaining patients.
 */
import { sql } from 'kysely'
import { MINUTE } from '../../../lib/clock.ts'
import { FOLD_VERSION } from '../../../lib/fold.ts'
import type { KeyRing } from '../../../platform/crypto/index.ts'
import type { Scopes, TenantTx } from '../../../platform/db/index.ts'
import type { Upkeep } from '../../../platform/lifecycle/upkeep.ts'
import type { PatientRow } from '../records/fields.ts'
import { isReadable, openRecord } from '../records/record.ts'
import { COLUMNS } from '../records/records.store.ts'
import { tokensOf } from '../search/tokens.ts'
import { replaceTokens } from './fold-tokens.store.ts'

const BATCH = 100
/** The maximum number of batches per run. It limits how long a run delays startup. */
const MAX_BATCHES = 50

export function foldsTokens({ db, keyRing }: { db: Scopes; keyRing: KeyRing }): Upkeep {
  return {
    what: 'rebuild of patient search tokens',
    everyMs: MINUTE,
    isNeededToServe: false,
    async run() {
      // Continues after the last id. Patients that cannot be decrypted are then skipped, and keep their tokens.
      let after = 0
      for (let batch = 0; batch < MAX_BATCHES; batch += 1) {
        const found = await db.acrossTenants((tx) => nextOld(tx, after), 'read')
        // Uses one transaction per tenant, because each tenant has its own data keys.
        for (const [tenantId, patients] of Map.groupBy(found, (one) => one.tenant_id)) {
          const ids = patients.map(({ id }) => id)
          await db.inTenant(tenantId, (tx) => foldAgain(tx, keyRing, tenantId, ids))
        }
        if (found.length < BATCH) return
        after = found.at(-1)?.id ?? 0
      }
    },
  }
}

async function nextOld(tx: TenantTx, after: number): Promise<{ id: number; tenant_id: number }[]> {
  const { rows } = await sql<{ id: number; tenant_id: number }>`
    select id, tenant_id from patients where fold_version < ${FOLD_VERSION} and id > ${after}
    order by id limit ${BATCH}`.execute(tx.db)
  return rows
}

async function foldAgain(
  tx: TenantTx,
  keyRing: KeyRing,
  tenantId: number,
  ids: readonly number[],
): Promise<void> {
  const keys = await keyRing.forWriting(tx, tenantId)
  const rows: PatientRow[] = await tx.db
    .selectFrom('patients')
    .select(COLUMNS)
    .where('id', '=', sql<number>`any(${ids}::bigint[])`)
    .where('fold_version', '<', FOLD_VERSION)
    .forNoKeyUpdate()
    .skipLocked()
    .execute()
  const records = rows.map((row) => openRecord(keys, row)).filter(isReadable)
  const tokens = records.flatMap((record) => tokensOf(keys, record.id, record))
  await replaceTokens(
    tx,
    records.map(({ id }) => id),
    tokens,
  )
}
