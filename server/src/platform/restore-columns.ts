/** Restore rules of columns. Each feature declares them beside its tables, and a test compares them with the catalogue. */
import type { Connection } from './db/index.ts'

/**
 * The restore rules of one table. A restore brings data back, never access. A column that grants access, or selects the
 * events of a receiver, keeps the stricter of the two values. In all SQL `stage` is the row of the backup, and `live` is
 * the current row.
 */
export interface ColumnRules {
  /** Columns that take the value of the backup. */
  readonly data: readonly string[]
  /** Columns that grant access, each with its merged value. */
  readonly access?: Readonly<Record<string, AccessRule>>
  /** The cases to report for rows that still exist, each with its condition. */
  readonly reported?: Readonly<Record<string, string>>
  /** The row that owns these rows. While it exists, a merged restore keeps the current rows. */
  readonly owner?: { readonly table: string; readonly column: string }
  /** Values that a restore with the access of the backup keeps too. */
  readonly spent?: Readonly<Record<string, string>>
  /** The time of a deletion that can be undone: a row that the restore deletes gets the time of the restore. */
  readonly deletedAt?: string
  /** A column of a unique index whose values may have moved between rows, and a temporary value that cannot collide. */
  readonly parked?: { readonly column: string; readonly value: string }
}

interface AccessRule {
  /** The value for a row that still exists. */
  readonly merged: string
  /** The value for a row that was deleted since the backup; the value of the backup by default. */
  readonly deleted?: string
}

/** By the name of the table. */
export type RestoreColumns = Readonly<Record<string, ColumnRules>>

/** A restore in place, as features see it. */
export interface Restoring {
  /** True if the access of the backup is restored too. */
  readonly bringsAccess: boolean
  /** When the backup was made, ISO 8601. */
  readonly instant: string
  /** The user who ordered it; null for the command line. */
  readonly orderedBy: number | null
}

/** The steps of a feature within a restore in place, in its transaction. */
export interface RestoreSteps {
  /**
   * Runs before the rows of the backup are written. Returns work to do after the commit, in a transaction that
   * sees every tenant, or undefined.
   */
  before?(client: Connection): Promise<((client: Connection) => Promise<void>) | undefined>
  /** Runs after the rows of the backup were written. */
  after?(client: Connection, restoring: Restoring): Promise<void>
}
