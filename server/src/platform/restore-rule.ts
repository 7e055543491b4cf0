/** What a restore does with a table: each says it beside its types, and a test asks all of them. */

/**
 * - `restored`: its rows become those of the backup;
 * - `merged`: so that data come back and access does not;
 * - `kept`: stays as it is, and is loaded into an empty database only;
 * - `ended`: in no backup, and emptied by a restore;
 * - `closed`: in no backup; a restore ends its rows, which stay;
 * - `made anew`: in no backup, and derived from the rest;
 * - `never touched`: in no backup, and nothing that a restore changes.
 */
export type RestoreRule =
  | 'restored'
  | 'merged'
  | 'kept'
  | 'ended'
  | 'closed'
  | 'made anew'
  | 'never touched'

/** By the name of the table. */
export type RestoreRules = Readonly<Record<string, RestoreRule>>

/** Records that are destroyed one at a time, and that no backup may bring back. */
export interface PurgedRecords {
  /** The table of the records. */
  readonly table: string
  /** The table that lists the destroyed records by `id` and `tenant_id`. */
  readonly purged: string
  /** The restored tables whose rows belong to one record, with the column that names it. */
  readonly parts: Readonly<Record<string, string>>
}

/** Whether rows of such a table are in a backup. */
export const isBackedUp = (rule: RestoreRule | undefined): boolean =>
  rule === 'restored' || rule === 'merged' || rule === 'kept'
