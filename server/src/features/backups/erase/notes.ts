/**
 * Notes of purged tenants, beside the backups: what is left of a purge when the database is lost. Each
 * is signed with the root keys, so that nobody else can keep a clinic from coming back.
 */
import Type from 'typebox'
import { Compile } from 'typebox/compile'
import type { Logger } from '../../../platform/observe/log.ts'
import type { Keeper } from '../file/identity.ts'
import { findSigned, readSigned, writeSigned } from '../file/signed.ts'
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
  /** Of which database it was a tenant. */
  installation: string
  purged_at: string
}

/** Something in a store that is not believed, and why. */
export interface Disbelieved {
  name: string
  reason: string
}

export const noteName = (tenantId: number): string => `purged-${tenantId}.json`

/** Sees to it that the note is there: one that is not believed gives way to it. */
export async function leaveNote(
  store: Store,
  keeper: Keeper,
  { tenant_id, installation, purged_at }: Note,
  signal: AbortSignal,
): Promise<void> {
  const name = noteName(tenant_id)
  const there = noteIn(name, await findSigned(store, keeper, name))
  if (typeof there !== 'string' && there.installation === installation) return
  const value = { purged_tenant: tenant_id, installation, purged_at }
  // Also by the root keys before: a backup of their time may meet it where one of them is all that is left.
  await writeSigned(store, { sign: keeper.signByAll }, name, value, signal)
}

/** The notes of a store; those that are not believed apart. */
export async function readNotes(
  store: Store,
  keeper: Keeper,
): Promise<{ notes: Note[]; disbelieved: Disbelieved[] }> {
  const notes: Note[] = []
  const disbelieved: Disbelieved[] = []
  for (const { name } of await store.list()) {
    if (!NAME.test(name)) continue
    const told = await readSigned(store, keeper, name).catch((error: unknown) => {
      // Another process may just be writing it anew.
      if (error instanceof NotStoredError) return error.message
      throw error
    })
    const note = typeof told === 'string' ? told : noteIn(name, told)
    if (typeof note === 'string') disbelieved.push({ name, reason: note })
    else notes.push(note)
  }
  return { notes, disbelieved }
}

/** As `readNotes`, of several stores, in the log what is not believed. */
export async function notesIn(
  stores: readonly Store[],
  keeper: Keeper,
  log: Logger,
): Promise<Note[]> {
  const all: Note[] = []
  for (const store of stores) {
    const { notes, disbelieved } = await readNotes(store, keeper)
    all.push(...notes)
    for (const { name, reason } of disbelieved)
      log.warn(
        { name, place: store.place },
        `a note of a purged tenant is not believed: ${reason}; what it is of comes back`,
      )
  }
  return all
}

/** The tenants of an installation that are purged. */
export const purgedOf = (notes: readonly Note[], installation: string): number[] => [
  ...new Set(
    notes.filter((note) => note.installation === installation).map(({ tenant_id }) => tenant_id),
  ),
]

function noteIn(name: string, told: Record<string, unknown> | undefined): Note | string {
  if (!Note.Check(told)) return 'it is no note of a purged tenant'
  const { purged_tenant: tenant_id, installation, purged_at } = told
  // A true note under another's name says nothing of that one.
  if (name !== noteName(tenant_id)) return 'it is of another tenant'
  return { tenant_id, installation, purged_at }
}
