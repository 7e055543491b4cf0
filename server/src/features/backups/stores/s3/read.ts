/**
 * Reads an object piece by piece, each in a request of its own: a connection that breaks costs one
 * piece, and a slow reader leaves none waiting.
 */
import { SECOND } from '../../../../lib/clock.ts'
import { type ByteRange, NotStoredError, StoreError } from '../store.ts'
import { type Bucket, BucketError } from './bucket.ts'

const PIECE_DEADLINE_MS = 60 * SECOND
const BITE = 256 * 1024
/** Where little is asked for, why it is refused has to fit all the same. */
const REFUSAL_BYTES = 16 * 1024

export interface ReadOptions {
  bucket: Bucket
  key: string
  /** What a request asks for. */
  pieceBytes: number
}

interface Piece {
  bytes: Buffer
  /** Of the whole object. */
  size: number
  etag: string | undefined
}

/** @throws NotStoredError; StoreError, also where the object was changed meanwhile */
export async function* readPieces(
  { bucket, key, pieceBytes }: ReadOptions,
  { start, end }: { start: number; end: number },
): AsyncGenerator<Buffer> {
  const leaving = new AbortController()
  const { signal } = leaving
  let etag: string | undefined
  const ask = (from: number) => {
    const range = { start: from, end: Math.min(from + pieceBytes - 1, end) }
    const piece = askPiece(bucket, key, range, { etag, signal })
    // Whoever waits for it hears of it; it may fail before that, or nobody waits any more.
    piece.catch(() => undefined)
    return piece
  }
  try {
    let from = start
    let coming = ask(from)
    for (;;) {
      const piece = await coming
      if (!piece) return
      etag = piece.etag
      from += piece.bytes.length
      const isLast = from > Math.min(end, piece.size - 1)
      if (!isLast) coming = ask(from)
      yield* sliced(piece.bytes)
      if (isLast) return
    }
  } finally {
    leaving.abort(new StoreError('nobody reads it any more'))
  }
}

/** In bites, as a file is read: what comes behind works on each at once. */
function* sliced(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += BITE) yield bytes.subarray(at, at + BITE)
}

/** Undefined where the object ends before the range. */
async function askPiece(
  bucket: Bucket,
  key: string,
  range: ByteRange,
  { etag, signal }: { etag: string | undefined; signal: AbortSignal },
): Promise<Piece | undefined> {
  try {
    const { status, fields, body } = await bucket.ask({
      method: 'GET',
      key,
      headers: {
        range: `bytes=${range.start}-${range.end}`,
        ...(etag ? { 'if-match': etag } : {}),
      },
      deadlineMs: PIECE_DEADLINE_MS,
      maxBytes: range.end - range.start + 1 + REFUSAL_BYTES,
      signal,
    })
    const [, from, to, size] =
      /^bytes (\d+)-(\d+)\/(\d+)$/.exec(String(fields['content-range'])) ?? []
    const isAsked = Number(from) === range.start && Number(to) <= range.end
    if (status !== 206 || !isAsked || body.length !== Number(to) - range.start + 1)
      throw new StoreError(`the store does not answer the range of ${key} that it was asked for`)
    const said = typeof fields.etag === 'string' ? fields.etag : undefined
    return { bytes: body, size: Number(size), etag: said }
  } catch (error) {
    if (!(error instanceof BucketError)) throw error
    if (error.status === 416) return undefined
    if (error.status === 412) throw new StoreError(`${key} was changed while it was read`)
    throw unlessGone(error, key)
  }
}

/** What is missing is said in the words of all stores. */
const unlessGone = (error: BucketError, key: string): Error =>
  error.status === 404 && error.code !== 'NoSuchBucket'
    ? new NotStoredError(`the backup's file ${key} is gone`, { cause: error })
    : error
