/**
 * Keeps records that were destroyed one at a time, such as purged patients, from coming back by a backup that is older
 * than their destruction. The database lists them; notes beside the backups outlive the database (ADR 0030). A note has
 * numbers only, no personal data.
 */
import Type from 'typebox'
import { Compile } from 'typebox/compile'
import type { Scopes } from '../../../platform/db/index.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import type { PurgedRecords } from '../../../platform/restore-rule.ts'
import type { Keeper } from '../file/identity.ts'
import { readSigned, writeSigned } from '../file/signed.ts'
import { NotStoredError, type Store } from '../stores/store.ts'
import { listUnnoted, type RecordNotes, saveNoted } from './purged-records.store.ts'

/** Numbers in one note, which keeps it well below the bound of a signed text. */
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
  keeper: Keeper
  purgedRecords: readonly PurgedRecords[]
}

/** Writes notes of the records that the store has not recorded yet. @throws StoreError */
export async function noteRecords(
  { db, store, keeper, purgedRecords }: NoteDeps,
  signal: AbortSignal,
): Promise<void> {
  for (const records of purgedRecords)
    for (;;) {
      signal.throwIfAborted()
      const unnoted = await db.acrossTenants((tx) => listUnnoted(tx, records, MAX_TOGETHER), 'read')
      const [first] = unnoted.ids
      if (first === undefined) break
      const value = { purged_records: records.table, ...unnoted }
      // Signed by former root keys too: an older backup may be all that is left beside one of them.
      await writeSigned(
        store,
        { sign: keeper.signByAll },
        nameOf(records.table, first.id),
        value,
        signal,
      )
      const ids = unnoted.ids.map(({ id }) => id)
      await db.acrossTenants((tx) => saveNoted(tx, records, ids))
    }
}

/** Returns the notes of the stores. Logs those with an invalid signature, whose records come back. */
export async function recordNotesIn(
  stores: readonly Store[],
  keeper: Keeper,
  log: Logger,
): Promise<RecordNotes[]> {
  const notes: RecordNotes[] = []
  for (const store of stores)
    for (const { name } of await store.list()) {
      if (!NAME.test(name)) continue
      const told = await readSigned(store, keeper, name).catch((error: unknown) => {
        // Another process may be rewriting it.
        if (error instanceof NotStoredError) return error.message
        throw error
      })
      if (typeof told === 'string' || !RecordNote.Check(told))
        log.warn(
          { name, place: store.place },
          'invalid note of purged records; its records come back',
        )
      else
        notes.push({ table: told.purged_records, installation: told.installation, ids: told.ids })
    }
  return notes
}
