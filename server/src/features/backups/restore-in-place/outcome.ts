/** A record whose access is not restored to the state in the backup. */
export interface AccessCase {
  table: string
  id: number
  /**
   * The fields that keep their current value. For a record that was deleted after the backup, the fields with which it
   * comes back blocked.
   */
  fields: string[]
  /** The name of the record. Only previews have it. */
  name?: string | null
}

/** The maximum number of access cases listed in a result or a journal entry. The total counts all of them. */
export const MAX_CASES = 1_000

/** The number of rows in a table that a restore adds, changes and removes. */
export interface Difference {
  added: number
  changed: number
  removed: number
}

/** The options of a queued restore job. */
export interface RestoreOptions {
  tenant_id: number | null
  /** `backup` restores access too, for example after a break-in. Sessions, keys and used codes are never restored. */
  access: 'merged' | 'backup'
  dry_run: boolean
}

export interface RestoreResult {
  dry_run: boolean
  tables: Record<string, Difference>
  access: { total: number; cases: AccessCase[] }
  safety_backup_id: string | null
  /** The tenants in the backup that were not restored because they were purged. */
  purged: number[]
  /** The number of records, by table, that were not restored because they were purged, such as patients. */
  purged_records: Record<string, number>
  /** The tenants, created or restored after the backup, that this restore deleted. They can be restored again. */
  deleted: number[]
}
