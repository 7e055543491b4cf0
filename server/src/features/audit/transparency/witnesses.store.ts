/** SQL for the witnesses of the platform's log. */
import { sql } from 'kysely'
import type { ConfiguredWitness } from '../../../config/audit-variables.ts'
import type { TenantTx } from '../../../platform/db/index.ts'
import { PLATFORM_LOG } from './logs.store.ts'
import type { AuditHeads } from './transparency.schema.ts'
import type { AuditWitnessesTable } from './transparency.table.ts'

export interface WitnessRow extends Omit<AuditWitnessesTable, 'size' | 'contradicts'> {
  size: number
  contradicts: boolean
}

type Witness = Pick<WitnessRow, 'origin' | 'key'>

const COLUMNS = [
  'origin',
  'key',
  'size',
  'checkpoint',
  'cosigned_at',
  'failure',
  'failing_since',
  'contradicts',
] as const

/** Lists the states of the witnesses of a log. */
export const listWitnessRows = (tx: TenantTx, origin: string): Promise<WitnessRow[]> =>
  tx.db.selectFrom('audit_witnesses').select(COLUMNS).where('origin', '=', origin).execute()

/** Lists the states of the witnesses of the log of the platform. */
export const listPlatformWitnesses = (tx: TenantTx): Promise<WitnessRow[]> =>
  tx.db
    .selectFrom('audit_witnesses')
    .select(COLUMNS)
    .where(
      sql<boolean>`origin = (select name from audit_keys where retired_at is null) || '/' || ${PLATFORM_LOG}::int
        || '/' || (select max(epoch) from audit_logs where tenant_id = ${PLATFORM_LOG})`,
    )
    .execute()

/** Returns the states of the configured witnesses, in their order. */
export async function witnessesOf(
  tx: TenantTx,
  origin: string,
  witnesses: readonly ConfiguredWitness[],
): Promise<AuditHeads['items'][number]['witnesses']> {
  const rows = new Map((await listWitnessRows(tx, origin)).map((row) => [row.key, row]))
  return witnesses.map(({ key, url, verifier: { name } }) => {
    const { size = 0, checkpoint = null, cosigned_at = null, failure = null } = rows.get(key) ?? {}
    return { name, url: url.href, size, checkpoint, cosigned_at, failure }
  })
}

/** Records a cosigned head. An older one never replaces a newer one. */
export async function recordCosigned(
  tx: TenantTx,
  { origin, key }: Witness,
  head: { size: number; checkpoint: string; cosigned_at: string },
): Promise<void> {
  await tx.db
    .insertInto('audit_witnesses')
    .values({ origin, key, ...head })
    .onConflict((conflict) =>
      conflict
        .columns(['origin', 'key'])
        .doUpdateSet({ ...head, failure: null, failing_since: null, contradicts: false })
        .where('audit_witnesses.size', '<=', head.size),
    )
    .execute()
}

/** Records that a witness did not cosign. */
export async function recordFailure(
  tx: TenantTx,
  { origin, key }: Witness,
  { failure, contradicts }: Pick<WitnessRow, 'contradicts'> & { failure: string },
): Promise<void> {
  await tx.db
    .insertInto('audit_witnesses')
    .values({ origin, key, failure, contradicts, failing_since: sql`now()` })
    .onConflict((conflict) =>
      conflict.columns(['origin', 'key']).doUpdateSet({
        failure,
        contradicts,
        failing_since: sql`coalesce(audit_witnesses.failing_since, now())`,
      }),
    )
    .execute()
}
