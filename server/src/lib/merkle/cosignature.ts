/** Cosignatures of witnesses with Ed25519 (C2SP tlog-cosignature, version 1). */
import { verify } from 'node:crypto'
import {
  COSIGNATURE_V1,
  type NoteVerifier,
  readVerifierKey,
  signatureLine,
  signaturesIn,
} from '../signed-note.ts'

const TIME_BYTES = 8

/** A witness confirms that, up to a time, the head was the largest one that it had seen of the log. */
export interface Cosignature {
  /** The line that belongs below the signatures of the log. */
  readonly line: string
  /** The time in seconds since the Unix epoch. */
  readonly time: number
}

/** Reads the verifier key of a witness. Returns undefined if it is malformed or of another type. */
export const readWitnessKey = (text: string): NoteVerifier | undefined =>
  readVerifierKey(text, COSIGNATURE_V1)

/** Returns the text that a witness signs. */
const statement = (text: string, time: bigint): Buffer =>
  Buffer.from(`cosignature/v1\ntime ${time}\n${text}`)

/** Finds the cosignature of a witness in lines. Ignores other keys. Returns undefined if none is valid. */
export function findCosignature(
  text: string,
  lines: string,
  witness: NoteVerifier,
): Cosignature | undefined {
  for (const bytes of signaturesIn(lines, witness, COSIGNATURE_V1)) {
    if (bytes.length <= TIME_BYTES) continue
    const time = bytes.readBigUInt64BE()
    const isValid = verify(
      null,
      statement(text, time),
      witness.publicKey,
      bytes.subarray(TIME_BYTES),
    )
    if (isValid && time <= BigInt(Number.MAX_SAFE_INTEGER))
      return { line: signatureLine(witness, COSIGNATURE_V1, bytes), time: Number(time) }
  }
  return undefined
}
