/** Reads the heads and keys with which a log is verified: those that its holder kept, and those in an export. */
import { open } from 'node:fs/promises'
import {
  isSignedBy,
  MAX_CHECKPOINT_LENGTH,
  MalformedCheckpoint,
  readCheckpoint,
} from '../../../lib/merkle/checkpoint.ts'
import { type NoteVerifier, readVerifierKey } from '../../../lib/signed-note.ts'
import { Uncheckable } from './findings.ts'
import type { KnownHead } from './log-verifier.ts'

/** @throws Uncheckable for text that is not a verifier key */
export function parseKey(text: string): NoteVerifier {
  const key = readVerifierKey(text.trim())
  if (!key)
    throw new Uncheckable(
      `Not a verifier key: ${JSON.stringify(text.slice(0, 200))}. Pass a line that "wardkeep audit key" prints.`,
    )
  return key
}

/** Reads a file of the size of a signed head. @throws Uncheckable if it is larger */
export async function readSmall(path: string): Promise<string> {
  const file = await open(path)
  try {
    const buffer = Buffer.alloc(MAX_CHECKPOINT_LENGTH + 1)
    const { bytesRead } = await file.read(buffer, 0, buffer.length, 0)
    if (bytesRead > MAX_CHECKPOINT_LENGTH)
      throw new Uncheckable(`${path}: It is not the signed head of a log: it is too long.`)
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await file.close()
  }
}

/** @throws Uncheckable if the note is not a signed head */
function parse(note: string, name: string) {
  try {
    return readCheckpoint(note)
  } catch (error) {
    if (error instanceof MalformedCheckpoint) throw new Uncheckable(`${name}: ${error.message}`)
    throw error
  }
}

/** Reads a signed head and verifies its signature. @throws Uncheckable if it is malformed or signed by another key */
export function parseHead(note: string, name: string, keys: readonly NoteVerifier[]): KnownHead {
  const head = parse(note, name)
  if (!isSignedBy(note, keys))
    throw new Uncheckable(
      `${name}: The head is not signed with ${keys.map((key) => key.name).join(' or ')}, or was changed.`,
    )
  return { ...head, name }
}

/** The heads that were given. Each is compared with the log that its origin names. */
export interface KeptHeads {
  /** Returns the heads of a log. @throws Uncheckable if one is not signed with the keys */
  of(origin: string, keys: readonly NoteVerifier[]): KnownHead[]
  /** Returns a sentence for each head whose log was not verified. */
  unused(): string[]
}

/** Reads files with a signed head each. @throws Uncheckable if one is malformed */
export async function readHeads(paths: readonly string[]): Promise<KeptHeads> {
  const given: { name: string; note: string; origin: string }[] = []
  for (const name of paths) {
    const note = await readSmall(name)
    given.push({ name, note, origin: parse(note, name).origin })
  }
  const used = new Set<string>()
  return {
    of(origin, keys) {
      const own = given.filter((head) => head.origin === origin)
      for (const { name } of own) used.add(name)
      return own.map(({ name, note }) => parseHead(note, name, keys))
    },
    unused: () =>
      given
        .filter(({ name }) => !used.has(name))
        .map(({ name, origin }) => `${name}: It is the head of another log: ${origin}.`),
  }
}
