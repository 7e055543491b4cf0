/** Signed notes with Ed25519 (C2SP signed-note): a text, and the signatures of named keys below it. */
import { createPublicKey, hash, type KeyObject, sign, verify } from 'node:crypto'

const KEY_BYTES = 32
const ID_BYTES = 4

/** A key that verifies notes. */
export interface NoteVerifier {
  readonly name: string
  readonly publicKey: KeyObject
}

/** A key that signs notes. */
export interface NoteSigner extends NoteVerifier {
  readonly privateKey: KeyObject
}

/** Returns the 32 bytes of an Ed25519 public key. */
function rawKeyOf(publicKey: KeyObject): Buffer {
  const { x } = publicKey.export({ format: 'jwk' })
  return Buffer.from(x ?? '', 'base64url')
}

/** The types of keys. A key of a log signs the text, and a key of a witness a statement about it. */
const ED25519 = 1
export const COSIGNATURE_V1 = 4
type KeyType = typeof ED25519 | typeof COSIGNATURE_V1

/** Returns the id of a key, with which signatures name it. */
function keyIdOf({ name, publicKey }: NoteVerifier, type: KeyType): Buffer {
  const named = Buffer.concat([Buffer.from(`${name}\n`), Buffer.of(type), rawKeyOf(publicKey)])
  return hash('sha256', named, 'buffer').subarray(0, ID_BYTES)
}

/** Formats the verifier key (`vkey`) to hand to others: the name, the id and the public key. */
export function writeVerifierKey(verifier: NoteVerifier, type: KeyType = ED25519): string {
  const key = Buffer.concat([Buffer.of(type), rawKeyOf(verifier.publicKey)])
  return `${verifier.name}+${keyIdOf(verifier, type).toString('hex')}+${key.toString('base64')}`
}

/** Reads a verifier key. Returns undefined if it is malformed or of another type. */
export function readVerifierKey(text: string, type: KeyType = ED25519): NoteVerifier | undefined {
  const [, name = '', id, encoded = ''] =
    /^([^\s+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)$/.exec(text) ?? []
  const key = Buffer.from(encoded, 'base64')
  if (id === undefined || key.length !== 1 + KEY_BYTES || key[0] !== type) return undefined
  const x = key.subarray(1).toString('base64url')
  const publicKey = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
  const verifier = { name, publicKey }
  return keyIdOf(verifier, type).toString('hex') === id ? verifier : undefined
}

/** Signs a text. @param text ends with a newline */
export function signNote(text: string, signers: readonly NoteSigner[]): string {
  const lines = signers.map((signer) =>
    signatureLine(signer, ED25519, sign(null, Buffer.from(text), signer.privateKey)),
  )
  return `${text}\n${lines.join('')}`
}

/** Formats the line of a signature. */
export function signatureLine(verifier: NoteVerifier, type: KeyType, signature: Buffer): string {
  const encoded = Buffer.concat([keyIdOf(verifier, type), signature]).toString('base64')
  return `\u2014 ${verifier.name} ${encoded}\n`
}

/** Returns the signatures in lines that name the key. They are not verified. */
export function signaturesIn(lines: string, verifier: NoteVerifier, type: KeyType): Buffer[] {
  const id = keyIdOf(verifier, type)
  return lines.split('\n').flatMap((line) => {
    const [, name, encoded = ''] = /^\u2014 (\S+) ([A-Za-z0-9+/=]+)$/.exec(line) ?? []
    const bytes = Buffer.from(encoded, 'base64')
    return name === verifier.name && bytes.subarray(0, ID_BYTES).equals(id)
      ? [bytes.subarray(ID_BYTES)]
      : []
  })
}

/** Splits a note into its text and the lines of its signatures. Returns undefined if it is malformed. */
export function splitNote(note: string): { text: string; lines: string } | undefined {
  const end = note.lastIndexOf('\n\n')
  return end < 0 ? undefined : { text: note.slice(0, end + 1), lines: note.slice(end + 2) }
}

/** Returns the text of a note that the key has signed. Returns undefined if it has not, or if the note is malformed. */
export function openNote(note: string, verifier: NoteVerifier): string | undefined {
  const { text = '', lines = '' } = splitNote(note) ?? {}
  const isSigned = signaturesIn(lines, verifier, ED25519).some((signature) =>
    verify(null, Buffer.from(text), verifier.publicKey, signature),
  )
  return isSigned ? text : undefined
}
