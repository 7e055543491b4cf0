/** The restore rules of tables, declared beside their types. A test checks that every table has a rule. */

/** The effect of a restore on the rows of one table. */
export type RestoreRule =
  /** A restore replaces the rows with those of the backup. */
  | 'restored'
  /** A restore replaces the data columns, but does not bring back access. */
  | 'merged'
  /** A restore leaves the rows unchanged, and loads the backup's rows only into an empty database. */
  | 'kept'
  /** Backups do not contain the table. A restore deletes its rows. */
  | 'ended'
  /** Backups do not contain the table. A restore marks its rows as ended, but does not delete them. */
  | 'closed'
  /** Backups do not contain the table. A restore derives its rows from other tables. */
  | 'rebuilt'
  /** Backups do not contain the table. A restore does not change it. */
  | 'never touched'

export type RestoreRules = Readonly<Record<string, RestoreRule>>

/** A kind of record that can be deleted permanently. No restore may bring a deleted record back. */
export interface PurgedRecords {
  /** The table that contains the records. */
  readonly table: string
  /** The table that lists the deleted records by `id` and `tenant_id`. */
  readonly purged: string
  /** The restored tables whose rows belong to a record, each with the column that contains the record's id. */
  readonly parts: Readonly<Record<string, string>>
}

/** Returns whether rows of a table with this rule are in a backup. */
export const isBackedUp = (rule: RestoreRule | undefined): boolean =>
  rule === 'restored' || rule === 'merged' || rule === 'kept'
