/** What a restore does with the columns of a table: each feature declares it beside the table, and a test asks all. */
import type { Connection } from './db/index.ts'

/**
 * The columns of a table that a restore brings back. Data come back and access does not: of a column that lets
 * somebody in, or tells somebody something, the stricter of the two values stays. All SQL is over `stage`, the row
 * of the backup, and `live`, the row of today.
 */
export interface ColumnRules {
  /** Columns that take the value of the backup. */
  readonly data: readonly string[]
  /** Columns that grant access, each with its merged value. */
  readonly access?: Readonly<Record<string, AccessRule>>
  /** The cases to report where the row is there today, each with its condition. */
  readonly reported?: Readonly<Record<string, string>>
  /** The row that owns these rows. While it is there, a merged restore leaves the rows of today. */
  readonly owner?: { readonly table: string; readonly column: string }
  /** Values that stay also where the access of the backup comes back. */
  readonly spent?: Readonly<Record<string, string>>
  /** The time of a deletion that can be undone: a row that the restore deletes gets the time of the restore. */
  readonly deletedAt?: string
  /** A column of a unique index whose values may have changed hands, and a value that is out of the way. */
  readonly parked?: { readonly column: string; readonly value: string }
}

interface AccessRule {
  /** The value where the row is there today. */
  readonly merged: string
  /** The value where the row was deleted since the backup; that of the backup by default. */
  readonly deleted?: string
}

/** By the name of the table. */
export type RestoreColumns = Readonly<Record<string, ColumnRules>>

/** A restore in place, as features see it. */
export interface Restoring {
  /** Whether the access of the backup comes back too. */
  readonly bringsAccess: boolean
  /** When the backup was made, ISO 8601. */
  readonly instant: string
  /** The user who ordered it; null for the command line. */
  readonly orderedBy: number | null
}

/** What a feature does within a restore in place, in its transaction. */
export interface RestoreSteps {
  /**
   * Runs before the rows of the backup are written. Returns work to do after the commit, in a transaction that
   * sees every tenant, or undefined.
   */
  before?(client: Connection): Promise<((client: Connection) => Promise<void>) | undefined>
  /** Runs after the rows of the backup were written. */
  after?(client: Connection, restoring: Restoring): Promise<void>
}
