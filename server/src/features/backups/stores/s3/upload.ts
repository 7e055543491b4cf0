/**
 * Uploads an object as a stream, in parts with checksums, so that memory use stays constant. The object becomes visible
 * only after the last request has succeeded.
 */
import { createHash } from 'node:crypto'
import { SECOND } from '../../../../lib/clock.ts'
import { StoreError } from '../store.ts'
import { type Bucket, BucketError, type BucketRequest, type Content, contentOf } from './bucket.ts'
import { elementsOf, escapeXml, textOf } from './xml.ts'

/** The number of parts of equal size, as some services require. Later parts of a huge object are larger. */
const EQUAL_PARTS = 4_000
/** The maximum number of parts in S3. With first parts of 8 MiB, an object can have about 1 TiB. */
const MAX_PARTS = 10_000
/** The minimum speed of a connection, in bytes per second. An upload over a slower connection times out. */
const SLOWEST = 128 * 1024
const PART_DEADLINE_MS = 60 * SECOND
/** The time limit for completing an upload. In this step the service joins all parts. */
const COMPLETE_DEADLINE_MS = 600 * SECOND
/** The time limit for aborting an upload. It is short, because a shutdown waits for the abort. */
const ABORT_DEADLINE_MS = 3 * SECOND

export interface UploadTarget {
  bucket: Bucket
  key: string
  /** The HTTP headers of the object, such as those of its lock. */
  headers: Record<string, string>
  /** The size of the first part in bytes. */
  partBytes: number
}

interface Part {
  number: number
  etag: string
}

/** Uploads an object, or creates none. @throws any error of the source, BucketError, or the signal's reason */
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
  if (!id) throw new StoreError('the backup store returned no upload id')
  const ending = new AbortController()
  const both = AbortSignal.any([signal, ending.signal])
  const parts: Part[] = []
  let bytes = 0
  let sending = Promise.resolve()
  try {
    for (let part: Content | undefined = first; part; part = await nextOf(rest)) {
      // Waits for the previous part, because each part is sent while the next one is filled.
      await sending
      const number = parts.length + 1
      if (number > MAX_PARTS)
        throw new StoreError('the backup store does not support objects of this size')
      bytes += part.bytes.length
      const entry: Part = { number, etag: '' }
      parts.push(entry)
      sending = sendPart(bucket, { key, id, number, content: part, signal: both }).then((etag) => {
        entry.etag = etag
      })
      // Prevents an unhandled rejection if the part fails before it is awaited.
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
  if (typeof fields.etag !== 'string')
    throw new StoreError('the backup store returned no ETag for a part')
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
    // If the upload no longer exists, an earlier attempt may have completed it and only the response was lost.
    if (!(error instanceof BucketError && error.code === 'NoSuchUpload')) throw error
    const there = await bucket.ask({ method: 'HEAD', key, signal }).catch(() => undefined)
    if (Number(there?.fields['content-length']) !== bytes) throw error
  }
}

/** Returns the time limit for sending a part, in milliseconds. */
const deadlineOf = ({ bytes }: Content): number =>
  PART_DEADLINE_MS + (bytes.length / SLOWEST) * SECOND

/** Aborts an upload and deletes the parts that were sent. */
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

/** Yields all uploads whose key has the prefix and that were neither completed nor aborted. */
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

/** Returns the size of a part in bytes. @param number the number of the part, counted from 1 */
export const sizeOfPart = (number: number, first: number): number =>
  first * 2 ** Math.max(0, Math.ceil((number - EQUAL_PARTS) / 1_000))

/**
 * Splits a source into parts. Only the last part may be smaller. An empty source yields one empty part. A part stays
 * valid until the second part after it is requested.
 */
async function* inParts(
  source: AsyncIterable<Uint8Array>,
  first: number,
): AsyncGenerator<Content, undefined> {
  /** Two buffers, so that one is filled while the other is sent. Memory use therefore stays constant. */
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

/** Opens a part that is hashed while it is filled. Hashing a whole part in one step would block the event loop. */
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
