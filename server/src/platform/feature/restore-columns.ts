/**
 * Types for the restore rules of columns. Each feature declares the rules beside its tables. A test checks that every
 * column has a rule.
 */
import type { PgConnection } from '../db/index.ts'

/**
 * The restore rules of one table. A merged restore brings back data, but not access. Some columns grant access, or
 * select the events that a receiver gets. For such a column, the stricter of the two values is kept. In the SQL of the
 * rules, `stage` is the row in the backup and `live` is the current row.
 */
export interface ColumnRules {
  /** Columns that a restore sets to the value in the backup. */
  readonly data: readonly string[]
  /** Columns that grant access, each with the rule for its merged value. */
  readonly access?: Readonly<Record<string, AccessRule>>
  /**
   * SQL conditions, by the name of the case. The result of a restore reports existing rows that meet such a condition.
   */
  readonly reported?: Readonly<Record<string, string>>
  /** The table and column of the owning row. While that row exists, a merged restore keeps the current rows. */
  readonly owner?: { readonly table: string; readonly column: string }
  /**
   * Columns with values that can be used up, such as recovery codes. For each, the SQL value that remains when a
   * restore brings back access.
   */
  readonly spent?: Readonly<Record<string, string>>
  /**
   * The column with the time of a deletion that can be undone. In rows that the restore deletes, it is set to the time
   * of the restore.
   */
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

/** The column rules, by the name of the table. */
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
  /**
   * Runs before the rows of the backup are written. May return work to run after the commit, in a transaction that sees
   * all tenants.
   */
  before?(client: PgConnection): Promise<((client: PgConnection) => Promise<void>) | undefined>
  /** Runs after the rows of the backup were written. */
  after?(client: PgConnection, restoring: Restoring): Promise<void>
}
