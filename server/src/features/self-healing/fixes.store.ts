import { type Selectable, sql } from 'kysely'
import type { TenantTx } from '../../platform/db/index.ts'
import type { Fix } from '../../platform/feature/fix.ts'
import type { FixesTable, FixStatus, ScansTable } from './self-healing.table.ts'

const COLUMNS = [
  'id',
  'key',
  'title',
  'description',
  'plan',
  'severity',
  'automatic',
  'status',
  'reason',
  'unknown',
  'occurrences',
  'looked_at',
  'last_detected_at',
  'applied_at',
  'applied_by',
  'result',
  'position',
  'round',
  'applications',
  'failures',
  'deleted_at',
] as const

export type FixRow = Selectable<FixesTable>

const there = (tx: TenantTx, keys: readonly string[]) =>
  tx.db
    .selectFrom('self_healing_fixes')
    .where('key', 'in', keys)
    .where('deleted_at', 'is', null)
    .select(COLUMNS)

/** Returns the fixes with these keys, except deleted ones. */
export function listFixes(tx: TenantTx, keys: readonly string[]): Promise<FixRow[]> {
  return keys.length === 0 ? Promise.resolve([]) : there(tx, keys).orderBy('id').execute()
}

/** Returns a fix. Returns undefined if it does not exist, was deleted, or is unknown to this release. */
export async function findFix(
  tx: TenantTx,
  id: number,
  keys: readonly string[],
): Promise<FixRow | undefined> {
  if (keys.length === 0) return undefined
  return there(tx, keys).where('id', '=', id).executeTakeFirst()
}

/** Returns the columns that the code defines. Their copies in the row can be changed by an operator. */
const columnsOf = ({ key, title, description, plan, severity, automatic }: Fix) => ({
  key,
  title,
  description,
  plan,
  severity,
  automatic,
})

const NEVER_APPLIED = {
  status: 'idle',
  reason: null,
  unknown: null,
  applied_at: null,
  applied_by: null,
  result: null,
} as const

const NEW = { ...NEVER_APPLIED, looked_at: null, last_detected_at: null, position: null } as const

/** Inserts fixes that have never been in the database. Returns the number of inserted fixes. */
export async function insertMissing(tx: TenantTx, fixes: readonly Fix[]): Promise<number> {
  const known = await tx.db.selectFrom('self_healing_fixes').select('key').execute()
  const keys = new Set(known.map(({ key }) => key))
  const missing = fixes.filter(({ key }) => !keys.has(key))
  if (missing.length === 0) return 0
  const made = await tx.db
    .insertInto('self_healing_fixes')
    .values(missing.map((fix) => ({ ...columnsOf(fix), ...NEW, deleted_at: null })))
    .onConflict((conflict) => conflict.constraint('self_healing_fixes__key').doNothing())
    .returning('id')
    .execute()
  return made.length
}

/** Restores deleted fixes in their initial state. Returns the number of restored fixes. */
export async function undelete(tx: TenantTx, fixes: readonly Fix[]): Promise<number> {
  let count = 0
  for (const fix of fixes) {
    const { numUpdatedRows } = await tx.db
      .updateTable('self_healing_fixes')
      .set({ ...columnsOf(fix), ...NEW, occurrences: 0, deleted_at: null })
      .where('key', '=', fix.key)
      .where('deleted_at', 'is not', null)
      .executeTakeFirst()
    count += Number(numUpdatedRows)
  }
  return count
}

/** Resets fixes that differ from the code or from their initial state. Returns the number of reset fixes. */
export async function reset(tx: TenantTx, fixes: readonly Fix[]): Promise<number> {
  let count = 0
  for (const fix of fixes) {
    const columns = columnsOf(fix)
    const { numUpdatedRows } = await tx.db
      .updateTable('self_healing_fixes')
      .set({ ...columns, ...NEVER_APPLIED })
      .where('key', '=', fix.key)
      .where('deleted_at', 'is', null)
      .where(
        sql<boolean>`((title, description, plan, severity, automatic, status) is distinct from
          (${columns.title}, ${columns.description}, ${columns.plan}, ${columns.severity}, ${columns.automatic}, 'idle')
          or coalesce(reason, unknown, applied_at::text, result::text) is not null)`,
      )
      .executeTakeFirst()
    count += Number(numUpdatedRows)
  }
  return count
}

/** Marks a fix as deleted and deletes its findings. Returns false if the fix did not exist. */
export async function deleteFix(tx: TenantTx, id: number, at: string): Promise<boolean> {
  const gone = await tx.db
    .updateTable('self_healing_fixes')
    .set({ deleted_at: at, occurrences: 0 })
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .returning('id')
    .executeTakeFirst()
  await tx.db.deleteFrom('self_healing_findings').where('fix_id', '=', id).execute()
  return gone !== undefined
}

/** Locks a fix until the transaction ends. Returns false if the fix no longer exists. */
export async function lockFix(tx: TenantTx, id: number): Promise<boolean> {
  const row = await tx.db
    .selectFrom('self_healing_fixes')
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .select('id')
    .forUpdate()
    .executeTakeFirst()
  return row !== undefined
}

export interface FixChange {
  status?: FixStatus
  reason?: string | null
  unknown?: string | null
  occurrences?: number
  looked_at?: number
  last_detected_at?: string
  applied_at?: string
  applied_by?: number | null
  result?: string
  position?: string | null
  round?: number
  applications?: number
  failures?: number
}

export async function updateFix(tx: TenantTx, id: number, change: FixChange): Promise<void> {
  await tx.db
    .updateTable('self_healing_fixes')
    .set(change)
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .execute()
}

export type ScanRow = Omit<Selectable<ScansTable>, 'one'>

export function findScan(tx: TenantTx): Promise<ScanRow | undefined> {
  return tx.db
    .selectFrom('self_healing_scans')
    .select(['at', 'duration_ms', 'looked_at', 'unknown'])
    .executeTakeFirst()
}

export async function saveScan(tx: TenantTx, scan: ScanRow): Promise<void> {
  await tx.db
    .insertInto('self_healing_scans')
    .values({ one: true, ...scan })
    .onConflict((conflict) => conflict.column('one').doUpdateSet(scan))
    .execute()
}

/** Returns the share of all repairs that succeeded, and the last scan. The share is null if there were no repairs. */
export async function howItGoes(
  tx: TenantTx,
  keys: readonly string[],
): Promise<{ success_rate: number | null; last_scan: ScanRow | null }> {
  const fixes = await listFixes(tx, keys)
  const well = fixes.reduce((sum, { applications }) => sum + applications, 0)
  const all = fixes.reduce((sum, { failures }) => sum + failures, well)
  return { success_rate: all === 0 ? null : well / all, last_scan: (await findScan(tx)) ?? null }
}
