/** How a restore is asked for, and what came of it. */

/** One record that does not come back as the backup has it. */
export interface AccessCase {
  table: string
  id: number
  /** What stays as it is now, or comes back locked. */
  fields: string[]
}

/** Cases that a result, or an entry of the journal, names; all are counted. */
export const MAX_CASES = 1_000

/** Rows of a table that a restore adds, changes and removes. */
export interface Difference {
  added: number
  changed: number
  removed: number
}

/** How a restore is asked for. */
export interface RestoreOptions {
  /** Whose rows alone; null for all. */
  tenant_id: number | null
  /** Whether access comes back too, as after a break-in: but for sessions, keys and spent codes. */
  access: 'merged' | 'backup'
  dry_run: boolean
}

export interface RestoreResult {
  dry_run: boolean
  tables: Record<string, Difference>
  access: { total: number; cases: AccessCase[] }
  safety_backup_id: string | null
  /** Tenants of the backup that were purged, and left out. */
  purged: number[]
  /** Records of the backup that were destroyed, such as purged patients, and left out: how many, by table. */
  purged_records: Record<string, number>
  /** Tenants that are younger than the backup, or were put back since it, and were deleted: they can be put back. */
  deleted: number[]
}
