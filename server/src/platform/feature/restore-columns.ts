/** The restore rules of columns, declared beside the tables. A test checks that every column has a rule. */
import type { PgConnection } from '../db/index.ts'

/**
 * The restore rules of one table. A merged restore brings back data, but not access: of columns that grant access or
 * select a receiver's events, it keeps the stricter value. In SQL, `stage` is the backup's row, `live` the current one.
 */
export interface ColumnRules {
  /** Columns that a restore sets to the value in the backup. */
  readonly data: readonly string[]
  /** Columns that grant access, each with the rule for its merged value. */
  readonly access?: Readonly<Record<string, AccessRule>>
  /** SQL conditions by case name. The result of a restore reports existing rows that meet one. */
  readonly reported?: Readonly<Record<string, string>>
  /** The column with the name of a reported row, which a preview shows. */
  readonly label?: string
  /** The table and column of the owning row. While that row exists, a merged restore keeps the current rows. */
  readonly owner?: { readonly table: string; readonly column: string }
  /**
   * Columns with values that can be used up, such as recovery codes, and the SQL value after access is brought back.
   */
  readonly spent?: Readonly<Record<string, string>>
  /** The column with the time of a deletion that can be undone. Set in rows that the restore deletes. */
  readonly deletedAt?: string
  /** A column with a unique index whose values may have moved between rows, and a unique temporary value for it. */
  readonly parked?: { readonly column: string; readonly value: string }
}

interface AccessRule {
  /** The SQL value for a row that still exists. */
  readonly merged: string
  /** The SQL value for a row that was deleted after the backup. By default, the value in the backup. */
  readonly deleted?: string
}

export type RestoreColumns = Readonly<Record<string, ColumnRules>>

/** Describes the in-place restore that is running, for the steps of features. */
export interface Restoring {
  /** Whether the restore also brings back access as it was in the backup. */
  readonly bringsAccess: boolean
  /** When the backup was made, ISO 8601. */
  readonly instant: string
  /** The user who requested the restore. Null for the command line. */
  readonly orderedBy: number | null
}

/** The steps of a feature that run in the transaction of a restore in place. */
export interface RestoreSteps {
  /** Runs before the rows are written. May return work to run after the commit, across tenants. */
  before?(client: PgConnection): Promise<((client: PgConnection) => Promise<void>) | undefined>
  after?(client: PgConnection, restoring: Restoring): Promise<void>
}
