/**
 * Sends entries to an HTTPS receiver as lines of text, compressed. A status of 2xx confirms a batch. The receiver can ask
 * for smaller batches, for a pause, or reject single entries.
 */
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import {
  type NumberedEntry,
  type Receiver,
  ReceiverFault,
} from '../../../platform/journal/index.ts'
import type { PostTarget, Transfer } from '../../../platform/net/index.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import type { BodyOf, SiemFormat } from '../formats/bodies.ts'
import { MAX_MESSAGE } from '../formats/syslog-message.ts'

const DEADLINE_MS = 30_000
/** Maximum bytes of an entry, and of a batch before compression. */
const MAX_ENTRY = 1024 * 1024
const MAX_BATCH = 4 * 1024 * 1024
/** The longest pause that a receiver can ask for. */
const MAX_RETRY_AFTER_MS = 60 * 60 * 1000
/** After so many accepted batches in a row, a batch may be twice as large again. */
const GROW_AFTER = 20
/** After so many rejected entries without an accepted one, the receiver is misconfigured and no entry is skipped. */
const MAX_REJECTED = 10

const CONTENT_TYPES: Record<SiemFormat, string> = {
  ocsf: 'application/x-ndjson',
  cef: 'text/plain; charset=utf-8',
}

export interface HttpsOptions {
  target: PostTarget
  format: SiemFormat
  bodyOf: BodyOf
  /** The value of the Authorization header. */
  authorization: string | undefined
  signal: AbortSignal
  log: Logger
  /** The state that survives failures. */
  memory: HttpsMemory
  onSent(count: number): void
  onRejected(entry: NumberedEntry): void
}

/** The limits of its receiver that a node has learned. */
export interface HttpsMemory {
  /** The largest batch that the receiver takes. */
  batch: number
  accepted: number
  /** Whether the receiver has ever accepted an entry. Until then, a rejected entry is not passed over for good. */
  hasAccepted: boolean
  rejectedInARow: number
}

export const newHttpsMemory = (): HttpsMemory => ({
  batch: Number.POSITIVE_INFINITY,
  accepted: 0,
  hasAccepted: false,
  rejectedInARow: 0,
})

type Verdict = 'accepted' | 'too large' | 'rejected'

const compress = promisify(gzip)

export function httpsReceiver(options: HttpsOptions): Receiver {
  const { target, format, bodyOf, authorization, signal, log, memory, onSent, onRejected } = options
  let last: NumberedEntry | undefined

  async function post(lines: readonly string[]): Promise<Verdict> {
    const answer = await target.post({
      headers: {
        'content-type': CONTENT_TYPES[format],
        'content-encoding': 'gzip',
        'user-agent': 'wardkeep',
        ...(authorization ? { authorization } : {}),
      },
      body: await compress(`${lines.join('\n')}\n`),
      deadlineMs: DEADLINE_MS,
      signal,
    })
    return verdictOf(answer)
  }

  /** Delivers a batch, in smaller parts if the receiver refuses it. Every part is accepted or consists of one entry. */
  async function deliver(entries: readonly NumberedEntry[], maxBytes = MAX_ENTRY): Promise<void> {
    const [only, ...others] = entries
    if (!only) return
    const parts = partsOf(
      entries.map((entry) => bodyOf(entry, maxBytes)),
      memory.batch,
    )
    if (parts.length > 1) return deliverParts(entries, parts)
    const verdict = await post(parts[0] ?? [])
    if (verdict === 'accepted') return accepted(entries)
    if (others.length > 0) {
      const half = Math.ceil(entries.length / 2)
      if (verdict === 'too large') shrinkTo(half)
      await deliver(entries.slice(0, half))
      return deliver(entries.slice(half))
    }
    if (verdict === 'too large' && maxBytes > MAX_MESSAGE) return deliver(entries, MAX_MESSAGE)
    skip(only, verdict)
  }

  async function deliverParts(
    entries: readonly NumberedEntry[],
    parts: readonly (readonly string[])[],
  ): Promise<void> {
    let from = 0
    for (const { length } of parts) {
      await deliver(entries.slice(from, from + length))
      from += length
    }
  }

  function accepted(entries: readonly NumberedEntry[]): void {
    last = entries.at(-1)
    memory.rejectedInARow = 0
    memory.hasAccepted = true
    memory.accepted += 1
    if (memory.accepted % GROW_AFTER === 0) memory.batch *= 2
    onSent(entries.length)
  }

  function shrinkTo(batch: number): void {
    memory.batch = batch
    memory.accepted = 0
  }

  /** Goes on after an entry that the receiver does not take. @throws ReceiverFault if it takes no entry at all */
  function skip(entry: NumberedEntry, verdict: Verdict): void {
    if (memory.rejectedInARow >= MAX_REJECTED)
      throw new ReceiverFault('the receiver rejects every entry (HTTP 400 or 413)')
    memory.rejectedInARow += 1
    if (memory.hasAccepted) last = entry
    log.error(
      { entry: entry.id, action: entry.action, reason: verdict },
      'SIEM rejected an entry, which was skipped',
    )
    onRejected(entry)
  }

  return {
    send: (entries) => deliver(entries),
    async confirmed() {
      const confirmed = last
      last = undefined
      return confirmed
    },
    // The connections belong to the feature, which uses them again after a failure.
    close: async () => undefined,
  }
}

/** Splits lines into parts with a limited number of lines and bytes. A line that is too long is a part of its own. */
function partsOf(lines: readonly string[], maxLines: number): string[][] {
  const parts: string[][] = []
  let bytes = 0
  for (const line of lines) {
    const part = parts.at(-1)
    bytes += line.length
    if (part && part.length < maxLines && bytes <= MAX_BATCH) part.push(line)
    else {
      parts.push([line])
      bytes = line.length
    }
  }
  return parts
}

/** @throws ReceiverFault for every answer that neither accepts nor rejects the entries */
function verdictOf(answer: Transfer): Verdict {
  if (answer.kind === 'failed') throw new ReceiverFault(answer.detail)
  const { status, fields } = answer
  if (status >= 200 && status < 300) return 'accepted'
  if (status === 413) return 'too large'
  if (status === 400) return 'rejected'
  const reason =
    status === 401 || status === 403 ? 'the receiver refuses the token' : 'the receiver failed'
  const after = status === 429 || status === 503 ? retryAfterMs(fields['retry-after']) : undefined
  throw new ReceiverFault(`${reason} (HTTP ${status})`, after)
}

/** Reads the header Retry-After in seconds (RFC 9110, 10.2.3). A date counts as absent. */
function retryAfterMs(value: string | string[] | undefined): number | undefined {
  if (typeof value !== 'string' || !/^\d{1,10}$/.test(value)) return undefined
  return Math.min(Number(value) * 1000, MAX_RETRY_AFTER_MS)
}
