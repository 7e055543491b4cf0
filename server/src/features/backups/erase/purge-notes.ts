/**
 * Notes of purged tenants, stored next to the backups. With the notes, the purge stays effective even if the database
 * is lost. Each note is signed with the root keys, so that only the owner of a root key can block the restore of a
 * tenant.
 */
import Type from 'typebox'
import { Compile } from 'typebox/compile'
import type { Logger } from '../../../platform/observe/log.ts'
import type { BackupKeys } from '../file/identity.ts'
import { findSigned, readSigned, writeSigned } from '../file/signed-text.ts'
import { NotStoredError, type Store } from '../stores/store.ts'

const NAME = /^purged-[1-9]\d*[.]json$/

const Note = Compile(
  Type.Object({
    purged_tenant: Type.Integer({ minimum: 1 }),
    installation: Type.String(),
    purged_at: Type.String(),
  }),
)

export interface Note {
  tenant_id: number
  /** The id of the database that the tenant belonged to. */
  installation: string
  purged_at: string
}

/** An invalid note in a store, and why it is invalid. */
export interface Disbelieved {
  name: string
  reason: string
}

export const noteName = (tenantId: number): string => `purged-${tenantId}.json`

/** Writes the note of a purged tenant. Keeps an existing valid note, and replaces an invalid one. */
export async function leaveNote(
  store: Store,
  backupKeys: BackupKeys,
  { tenant_id, installation, purged_at }: Note,
  signal: AbortSignal,
): Promise<void> {
  const name = noteName(tenant_id)
  const there = noteIn(name, await findSigned(store, backupKeys, name))
  if (typeof there !== 'string' && there.installation === installation) return
  const value = { purged_tenant: tenant_id, installation, purged_at }
  // Signs with all root keys. A server that restores an old backup may have only a former one to verify with.
  await writeSigned(store, { sign: backupKeys.signByAll }, name, value, signal)
}

/** Returns the valid notes in a store, and separately the invalid ones. */
export async function readNotes(
  store: Store,
  backupKeys: BackupKeys,
): Promise<{ notes: Note[]; disbelieved: Disbelieved[] }> {
  const notes: Note[] = []
  const disbelieved: Disbelieved[] = []
  for (const { name } of await store.list()) {
    if (!NAME.test(name)) continue
    const contents = await readSigned(store, backupKeys, name).catch((error: unknown) => {
      // The note may be missing for a moment while another process rewrites it.
      if (error instanceof NotStoredError) return error.message
      throw error
    })
    const note = typeof contents === 'string' ? contents : noteIn(name, contents)
    if (typeof note === 'string') disbelieved.push({ name, reason: note })
    else notes.push(note)
  }
  return { notes, disbelieved }
}

/** Returns the valid notes in several stores. Logs the invalid notes. */
export async function notesIn(
  stores: readonly Store[],
  backupKeys: BackupKeys,
  log: Logger,
): Promise<Note[]> {
  const all: Note[] = []
  for (const store of stores) {
    const { notes, disbelieved } = await readNotes(store, backupKeys)
    all.push(...notes)
    for (const { name, reason } of disbelieved)
      log.warn(
        { name, place: store.place },
        `invalid record of a purged tenant (${reason}); the data of that tenant will be restored`,
      )
  }
  return all
}

/** Returns the ids of an installation's purged tenants. */
export const purgedOf = (notes: readonly Note[], installation: string): number[] => [
  ...new Set(
    notes.filter((note) => note.installation === installation).map(({ tenant_id }) => tenant_id),
  ),
]

function noteIn(name: string, contents: Record<string, unknown> | undefined): Note | string {
  if (!Note.Check(contents)) return 'it is not a record of a purged tenant'
  const { purged_tenant: tenant_id, installation, purged_at } = contents
  // A valid note that is stored under the name of another tenant has no effect for that tenant.
  if (name !== noteName(tenant_id)) return 'it belongs to another tenant'
  return { tenant_id, installation, purged_at }
}
