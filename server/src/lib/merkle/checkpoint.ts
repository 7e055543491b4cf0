/** The head of a log as text (C2SP tlog-checkpoint), and proofs with it (C2SP tlog-proof). */
import { type NoteVerifier, openNote } from '../signed-note.ts'
import { HASH_BYTES } from './tree.ts'

/** The head of a log. */
export interface Checkpoint {
  /** The name of the log, unique in the world. */
  readonly origin: string
  readonly size: number
  readonly root: Buffer
}

/** Formats a head as the text of a note. */
export const writeCheckpoint = ({ origin, size, root }: Checkpoint): string =>
  `${origin}\n${size}\n${root.toString('base64')}\n`

/** A text that is not the signed head of a log. The message is a sentence for people. */
export class MalformedCheckpoint extends Error {}

/** The maximum length of a signed head in characters. Ours have about 300, and each witness adds a line. */
export const MAX_CHECKPOINT_LENGTH = 16_384

const SIGNATURES = /^(?:\u2014 \S+ [A-Za-z0-9+/]+={0,2}\n)+$/

/**
 * Reads a signed head strictly, without verifying its signatures.
 * @throws MalformedCheckpoint if the text is anything else than one head
 */
export function readCheckpoint(note: string): Checkpoint {
  const refuse = (why: string): never => {
    throw new MalformedCheckpoint(`It is not the signed head of a log: ${why}.`)
  }
  if (note.length > MAX_CHECKPOINT_LENGTH) refuse('it is too long')
  if (note.includes('\r')) refuse('its lines end with CRLF, so a program has changed it')
  const end = note.indexOf('\n\n')
  if (end < 0) refuse('it is cut or has no signature')
  if (note.indexOf('\n\n', end + 2) >= 0) refuse('it has more than one head')
  if (!SIGNATURES.test(note.slice(end + 2))) refuse('its signatures are malformed or cut')
  const [origin = '', size = '', encoded = '', ...extensions] = note.slice(0, end).split('\n')
  if (origin === '' || extensions.some((line) => line === '')) refuse('it has no origin')
  if (!/^(?:0|[1-9]\d{0,15})$/.test(size) || !Number.isSafeInteger(Number(size)))
    refuse('its size is not a number')
  const root = Buffer.from(encoded, 'base64')
  if (root.length !== HASH_BYTES || root.toString('base64') !== encoded)
    refuse('its root is not a SHA-256 hash')
  return { origin, size: Number(size), root }
}

/** Returns whether one of the keys has signed a head. The name of a key begins the origin of its logs. */
export const isSignedBy = (note: string, keys: readonly NoteVerifier[]): boolean =>
  keys.some((key) => note.startsWith(`${key.name}/`) && openNote(note, key) !== undefined)

/** A proof that a log contains a leaf. */
export interface InclusionProof {
  readonly index: number
  readonly hashes: readonly Buffer[]
  /** The signed head. */
  readonly checkpoint: string
}

/** Formats a proof that can be verified offline. */
export function writeProof({ index, hashes, checkpoint }: InclusionProof): string {
  const lines = [
    'c2sp.org/tlog-proof@v1',
    `index ${index}`,
    ...hashes.map((one) => one.toString('base64')),
  ]
  return `${lines.join('\n')}\n\n${checkpoint}`
}
