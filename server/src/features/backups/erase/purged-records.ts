/**
 * Prevents older backups from restoring records that were purged individually, such as patients. The database lists
 * these records. Notes next to the backups contain the same list, in case the database is lost (ADR 0030). A note
 * contains only ids, and no personal data.
 */
import Type from 'typebox'
import { Compile } from 'typebox/compile'
import type { Scopes } from '../../../platform/db/index.ts'
import type { PurgedRecords } from '../../../platform/feature/restore-rule.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import type { BackupKeys } from '../file/identity.ts'
import { readSigned, writeSigned } from '../file/signed-text.ts'
import { NotStoredError, type Store } from '../stores/store.ts'
import { listUnnoted, type RecordNotes, saveNoted } from './purged-records.store.ts'

/** The maximum number of ids in one note. Keeps the note well below the size limit of a signed text. */
const MAX_TOGETHER = 10_000

const RecordNote = Compile(
  Type.Object({
    purged_records: Type.String(),
    installation: Type.String(),
    ids: Type.Array(
      Type.Object({ id: Type.Integer({ minimum: 1 }), tenant_id: Type.Integer({ minimum: 1 }) }),
    ),
  }),
)

const nameOf = (table: string, firstId: number) => `purged-${table}-${firstId}.json`
const NAME = /^purged-[a-z_]+-\d+[.]json$/

export interface NoteDeps {
  db: Scopes
  store: Store
  backupKeys: BackupKeys
  purgedRecords: readonly PurgedRecords[]
}

/** Writes notes for purged records that no note in the store lists yet. @throws StoreError */
export async function noteRecords(
  { db, store, backupKeys, purgedRecords }: NoteDeps,
  signal: AbortSignal,
): Promise<void> {
  for (const records of purgedRecords)
    for (;;) {
      signal.throwIfAborted()
      const unnoted = await db.acrossTenants((tx) => listUnnoted(tx, records, MAX_TOGETHER), 'read')
      const [first] = unnoted.ids
      if (first === undefined) break
      const value = { purged_records: records.table, ...unnoted }
      // Signs with all root keys, because a server that restores an old backup may have only a former root key.
      await writeSigned(
        store,
        { sign: backupKeys.signByAll },
        nameOf(records.table, first.id),
        value,
        signal,
      )
      const ids = unnoted.ids.map(({ id }) => id)
      await db.acrossTenants((tx) => saveNoted(tx, records, ids))
    }
}

/** Returns the valid notes and logs the invalid ones, whose records a restore brings back. */
export async function recordNotesIn(
  stores: readonly Store[],
  backupKeys: BackupKeys,
  log: Logger,
): Promise<RecordNotes[]> {
  const notes: RecordNotes[] = []
  for (const store of stores)
    for (const { name } of await store.list()) {
      if (!NAME.test(name)) continue
      const contents = await readSigned(store, backupKeys, name).catch((error: unknown) => {
        // The note may be missing for a moment while another process rewrites it.
        if (error instanceof NotStoredError) return error.message
        throw error
      })
      if (typeof contents === 'string' || !RecordNote.Check(contents))
        log.warn(
          { name, place: store.place },
          'invalid list of purged records; these records will be restored',
        )
      else
        notes.push({
          table: contents.purged_records,
          installation: contents.installation,
          ids: contents.ids,
        })
    }
  return notes
}
