/**
 * Writes an object as it comes: part by part, each with its checksums, so that memory stays flat. Nothing
 * of it is there before the last request has been answered.
 */
import { createHash } from 'node:crypto'
import { SECOND } from '../../../../lib/clock.ts'
import { StoreError } from '../store.ts'
import { type Bucket, BucketError, type BucketRequest, type Content, contentOf } from './bucket.ts'
import { elementsOf, escapeXml, textOf } from './xml.ts'

/** Some services ask for parts of one size; so many are, before the size grows for what is huge. */
const EQUAL_PARTS = 4_000
/** S3 takes no more; with 8 MiB to begin with they come to a TiB. */
const MAX_PARTS = 10_000
/** A connection that carries fewer bytes a second is taken for broken. */
const SLOWEST = 128 * 1024
const PART_DEADLINE_MS = 60 * SECOND
/** All parts are put together meanwhile. */
const COMPLETE_DEADLINE_MS = 600 * SECOND
/** A stop does not wait long. */
const ABORT_DEADLINE_MS = 3 * SECOND

export interface UploadTarget {
  bucket: Bucket
  key: string
  /** Of the object, such as its lock. */
  headers: Record<string, string>
  /** Of the first part. */
  partBytes: number
}

interface Part {
  number: number
  etag: string
}

/** @throws what the source throws, BucketError, or the signal's reason; nothing is written then */
export async function upload(
  target: UploadTarget,
  source: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<void> {
  const contents = inParts(source, target.partBytes)
  try {
    const first = await contents.next()
    if (first.done) return
    if (first.value.bytes.length < target.partBytes) {
      const { bucket, key, headers } = target
      const deadlineMs = deadlineOf(first.value)
      await bucket.ask({ method: 'PUT', key, headers, content: first.value, deadlineMs, signal })
    } else await uploadParts(target, first.value, contents, signal)
  } finally {
    await contents.return(undefined)
  }
}

async function uploadParts(
  target: UploadTarget,
  first: Content,
  rest: AsyncGenerator<Content>,
  signal: AbortSignal,
): Promise<void> {
  const { bucket, key, headers } = target
  const begun = await bucket.ask({ method: 'POST', key, query: { uploads: '' }, headers, signal })
  const id = textOf(begun.body.toString(), 'UploadId')
  if (!id) throw new StoreError('the store began an upload without saying which')
  const ending = new AbortController()
  const both = AbortSignal.any([signal, ending.signal])
  const parts: Part[] = []
  let bytes = 0
  let sending = Promise.resolve()
  try {
    for (let part: Content | undefined = first; part; part = await nextOf(rest)) {
      // One is on its way while the next one fills.
      await sending
      const number = parts.length + 1
      if (number > MAX_PARTS) throw new StoreError('the store takes no object of this size')
      bytes += part.bytes.length
      const entry: Part = { number, etag: '' }
      parts.push(entry)
      sending = sendPart(bucket, { key, id, number, content: part, signal: both }).then((etag) => {
        entry.etag = etag
      })
      // Whoever waits for it hears of it; it may fail before that.
      sending.catch(() => undefined)
    }
    await sending
    await complete(bucket, { key, id, parts, bytes, signal })
  } catch (error) {
    ending.abort(error)
    await sending.catch(() => undefined)
    await abortUpload(bucket, key, id, { tries: 2, deadlineMs: ABORT_DEADLINE_MS }).catch(
      () => undefined,
    )
    throw error
  }
}

async function nextOf(contents: AsyncGenerator<Content>): Promise<Content | undefined> {
  const { done, value } = await contents.next()
  return done ? undefined : value
}

async function sendPart(
  bucket: Bucket,
  {
    key,
    id,
    number,
    content,
    signal,
  }: { key: string; id: string; number: number; content: Content; signal: AbortSignal },
): Promise<string> {
  const { fields } = await bucket.ask({
    method: 'PUT',
    key,
    query: { partNumber: String(number), uploadId: id },
    content,
    deadlineMs: deadlineOf(content),
    signal,
  })
  if (typeof fields.etag !== 'string') throw new StoreError('the store took a part without an ETag')
  return fields.etag
}

async function complete(
  bucket: Bucket,
  {
    key,
    id,
    parts,
    bytes,
    signal,
  }: { key: string; id: string; parts: readonly Part[]; bytes: number; signal: AbortSignal },
): Promise<void> {
  const listed = parts.map(
    ({ number, etag }) =>
      `<Part><PartNumber>${number}</PartNumber><ETag>${escapeXml(etag)}</ETag></Part>`,
  )
  const xml = `<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${listed.join('')}</CompleteMultipartUpload>`
  try {
    await bucket.ask({
      method: 'POST',
      key,
      query: { uploadId: id },
      content: contentOf(Buffer.from(xml)),
      deadlineMs: COMPLETE_DEADLINE_MS,
      signal,
    })
  } catch (error) {
    // It may have been done, and only the answer was lost.
    if (!(error instanceof BucketError && error.code === 'NoSuchUpload')) throw error
    const there = await bucket.ask({ method: 'HEAD', key, signal }).catch(() => undefined)
    if (Number(there?.fields['content-length']) !== bytes) throw error
  }
}

/** How long a part may take on its way. */
const deadlineOf = ({ bytes }: Content): number =>
  PART_DEADLINE_MS + (bytes.length / SLOWEST) * SECOND

/** Deletes what an upload has sent so far. */
export async function abortUpload(
  bucket: Bucket,
  key: string,
  id: string,
  limits: Pick<BucketRequest, 'tries' | 'deadlineMs'> = {},
): Promise<void> {
  try {
    await bucket.ask({ method: 'DELETE', key, query: { uploadId: id }, ...limits })
  } catch (error) {
    if (!(error instanceof BucketError && error.code === 'NoSuchUpload')) throw error
  }
}

export interface PendingUpload {
  key: string
  id: string
  begunAt: number
}

/** The uploads that are neither completed nor aborted. */
export async function* pendingUploads(
  bucket: Bucket,
  prefix: string,
): AsyncGenerator<PendingUpload> {
  let markers: Record<string, string> | undefined = {}
  while (markers) {
    const query: Record<string, string> = { uploads: '', prefix, ...markers }
    const xml = (await bucket.ask({ method: 'GET', query })).body.toString()
    for (const upload of elementsOf(xml, 'Upload')) {
      const [key, id, at] = ['Key', 'UploadId', 'Initiated'].map((name) => textOf(upload, name))
      if (key && id && at) yield { key, id, begunAt: Date.parse(at) }
    }
    const key = textOf(xml, 'NextKeyMarker')
    const id = textOf(xml, 'NextUploadIdMarker')
    const isCut = textOf(xml, 'IsTruncated') === 'true' && key
    markers = isCut ? { 'key-marker': key, ...(id ? { 'upload-id-marker': id } : {}) } : undefined
  }
}

/** The bytes of a part, by its number from 1. */
export const sizeOfPart = (number: number, first: number): number =>
  first * 2 ** Math.max(0, Math.ceil((number - EQUAL_PARTS) / 1_000))

/**
 * What the source yields in parts, the last one as large as it is; of nothing, one that is empty. The bytes
 * of a part are good until the one behind the next is asked for.
 */
async function* inParts(
  source: AsyncIterable<Uint8Array>,
  first: number,
): AsyncGenerator<Content, undefined> {
  /** One is filled while the other is on its way: the same two, so that memory stays flat. */
  const rooms = [Buffer.alloc(0), Buffer.alloc(0)]
  const open = (size: number) => {
    const room = rooms.shift()
    const fitting = room && room.length >= size ? room : Buffer.allocUnsafeSlow(size)
    rooms.push(fitting)
    return openPart(fitting)
  }
  let number = 1
  let part = open(first)
  for await (const chunk of source) {
    let rest = chunk
    while (part.bytes() + rest.length >= sizeOfPart(number, first)) {
      const taken = sizeOfPart(number, first) - part.bytes()
      part.add(rest.subarray(0, taken))
      yield part.end()
      rest = rest.subarray(taken)
      number += 1
      part = open(sizeOfPart(number, first))
    }
    if (rest.length > 0) part.add(rest)
  }
  if (part.bytes() > 0 || number === 1) yield part.end()
  return undefined
}

/** Hashed as it fills: all at once would hold up everything else for a while. */
function openPart(room: Buffer) {
  const sha256 = createHash('sha256')
  const md5 = createHash('md5')
  let length = 0
  return {
    bytes: () => length,
    add(chunk: Uint8Array) {
      room.set(chunk, length)
      sha256.update(chunk)
      md5.update(chunk)
      length += chunk.length
    },
    end: (): Content => ({
      bytes: room.subarray(0, length),
      sha256: sha256.digest('hex'),
      md5: md5.digest('base64'),
    }),
  }
}
