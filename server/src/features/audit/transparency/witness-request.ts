/** Submits a head to a witness and reads its answer (C2SP tlog-witness). */
import type { ConfiguredWitness } from '../../../config/audit-variables.ts'
import { type Cosignature, findCosignature } from '../../../lib/merkle/cosignature.ts'
import { splitNote } from '../../../lib/signed-note.ts'
import type { PostTarget, Transfer } from '../../../platform/net/index.ts'
import type { PlatformHead } from './heads.service.ts'

const DEADLINE_MS = 15_000

export type WitnessAnswer =
  | { kind: 'cosigned'; cosignature: Cosignature }
  /** The witness has cosigned a larger head. */
  | { kind: 'ahead'; size: number }
  /** `contradicts` is true if the witness knows another history of the log. */
  | { kind: 'failed'; failure: string; contradicts: boolean }

export interface WitnessRequest {
  witness: ConfiguredWitness
  target: PostTarget
  head: PlatformHead
  /** The size of the last head that the witness cosigned, as far as this database knows. */
  known: number
  signal: AbortSignal
}

/** How often a head is submitted again. Other nodes may submit heads in between. */
const MAX_REPEATS = 5

/** Submits a head. If the witness names another size, submits the head again with a proof from there. */
export async function requestCosignature(request: WitnessRequest): Promise<WitnessAnswer> {
  const { head } = request
  let old = request.known <= head.size ? request.known : 0
  for (let repeats = 0; ; repeats += 1) {
    const answer = await submit(request, old)
    if (answer.kind === 'failed') return failed(answer.detail)
    const size = answer.status === 409 ? sizeIn(answer) : undefined
    if (size === undefined) return answerOf(answer, request, old)
    if (size > head.size) return { kind: 'ahead', size }
    if (size === old) return sameSize(old, head)
    if (repeats === MAX_REPEATS)
      return failed('the witness named another size each time (HTTP 409)')
    old = size
  }
}

async function submit({ target, head, signal }: WitnessRequest, old: number): Promise<Transfer> {
  const proof = (await head.proofFrom(old)).map((hash) => `${hash.toString('base64')}\n`)
  return target.post({
    headers: { 'content-type': 'text/plain; charset=utf-8', 'user-agent': 'wardkeep' },
    body: Buffer.from(`old ${old}\n${proof.join('')}\n${head.checkpoint}`),
    deadlineMs: DEADLINE_MS,
    signal,
  })
}

type Answered = Extract<Transfer, { kind: 'answered' }>

const failed = (failure: string, contradicts = false): WitnessAnswer => ({
  kind: 'failed',
  failure,
  contradicts,
})

/** Returns the size that the witness knows, or undefined for an answer without one. */
function sizeIn({ fields, body }: Answered): number | undefined {
  const type = String(fields['content-type']).split(';')[0]?.trim().toLowerCase()
  const [, digits] = /^(0|[1-9]\d{0,15})\n?$/.exec(body.toString('latin1')) ?? []
  const size = Number(digits)
  return type === 'text/x.tlog.size' && Number.isSafeInteger(size) ? size : undefined
}

/** The witness refuses the head although it knows the size from which the proof begins. */
const sameSize = (old: number, head: PlatformHead): WitnessAnswer =>
  old === head.size
    ? failed(`the witness has cosigned another head of ${old} entries (HTTP 409)`, true)
    : failed('the witness named the size that was sent (HTTP 409)')

const REFUSALS: Readonly<Record<number, string>> = {
  400: 'the witness rejected the request',
  403: 'the witness does not have a key of this log',
  404: 'the witness does not know this log',
}

function answerOf(
  { status, body }: Answered,
  { witness, head }: WitnessRequest,
  old: number,
): WitnessAnswer {
  if (status === 409) return sameSize(old, head)
  if (status === 422)
    return failed(`the log does not extend the head of ${old} entries (HTTP 422)`, true)
  if (status !== 200) return failed(`${REFUSALS[status] ?? 'the witness failed'} (HTTP ${status})`)
  const { text = '' } = splitNote(head.checkpoint) ?? {}
  const cosignature = findCosignature(text, body.toString('utf8'), witness.verifier)
  return cosignature
    ? { kind: 'cosigned', cosignature }
    : failed('the answer has no valid cosignature with the configured key')
}
