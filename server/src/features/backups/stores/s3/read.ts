/**
 * Reads an object in pieces, with one request for each piece. If a connection breaks, only one piece is requested
 * again. A slow reader keeps no connection open.
 */
import { SECOND } from '../../../../lib/clock.ts'
import { type ByteRange, NotStoredError, StoreError } from '../store.ts'
import { type Bucket, BucketError } from './bucket.ts'

const PIECE_DEADLINE_MS = 60 * SECOND
const BITE = 256 * 1024
/** Added to the size limit of each response, so that an error message fits even if few bytes were requested. */
const REFUSAL_BYTES = 16 * 1024

export interface ReadOptions {
  bucket: Bucket
  key: string
  pieceBytes: number
}

interface Piece {
  bytes: Buffer
  size: number
  etag: string | undefined
}

/** Yields a range of an object. @throws NotStoredError if it is missing, StoreError if it changes while it is read */
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
    // Prevents an unhandled rejection if the piece fails before it is awaited, or after the reader has stopped.
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
    leaving.abort(new StoreError('the reader stopped'))
  }
}

/** Yields the bytes in small slices, because later steps process each slice without yielding to the event loop. */
function* sliced(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += BITE) yield bytes.subarray(at, at + BITE)
}

/** Requests a range of the object. Returns undefined if the range starts after the end of the object. */
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
      throw new StoreError(`the backup store returned a different range of ${key} than requested`)
    const said = typeof fields.etag === 'string' ? fields.etag : undefined
    return { bytes: body, size: Number(size), etag: said }
  } catch (error) {
    if (!(error instanceof BucketError)) throw error
    if (error.status === 416) return undefined
    if (error.status === 412) throw new StoreError(`${key} changed while it was being read`)
    throw unlessGone(error, key)
  }
}

/** Returns a NotStoredError if the object is missing. Returns every other error unchanged. */
const unlessGone = (error: BucketError, key: string): Error =>
  error.status === 404 && error.code !== 'NoSuchBucket'
    ? new NotStoredError(`the backup file ${key} is missing`, { cause: error })
    : error
