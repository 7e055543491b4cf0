/** Requests to one bucket: signed, within a deadline, and tried again where what failed may pass. */
import { createHash } from 'node:crypto'
import { AwsV4Signer } from 'aws4fetch'
import { SECOND } from '../../../../lib/clock.ts'
import type { S3Credentials, S3Location } from '../../../../lib/s3-url.ts'
import type { Time } from '../../../../lib/time.ts'
import { openUpstream, type Transfer } from '../../../../platform/net/index.ts'
import { StoreError } from '../store.ts'
import { textOf } from './xml.ts'

const DEADLINE_MS = 10 * SECOND
/** A page of a list has a thousand names. */
const MAX_ANSWER = 4 * 1024 ** 2
const TRIES = 5
const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 8 * SECOND
/** What a server says that may be able to do it later. */
const PASSING = [408, 429, 500, 502, 503, 504]

type Answered = Extract<Transfer, { kind: 'answered' }>

/** Bytes that are sent, with what proves on arrival that they are these. */
export interface Content {
  bytes: Buffer
  /** SHA-256 in hex, and MD5 in base64 (RFC 1864). */
  sha256: string
  md5: string
}

export interface BucketRequest {
  method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE'
  /** Of the object, with what all names begin with; empty for the bucket itself. */
  key?: string
  query?: Record<string, string>
  headers?: Record<string, string>
  content?: Content
  /** Of one try. */
  deadlineMs?: number
  tries?: number
  maxBytes?: number
  signal?: AbortSignal | undefined
}

export interface Bucket {
  /** @throws BucketError where it is refused, or keeps failing; the signal's reason */
  ask(request: BucketRequest): Promise<Answered>
  close(): Promise<void>
}

/** The bucket refused, or did not answer. */
export class BucketError extends StoreError {
  /** Of HTTP; 0 without an answer. */
  readonly status: number
  /** S3's word for it, such as NoSuchKey; empty where it said none. */
  readonly code: string

  constructor(message: string, status: number, code: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

export interface BucketOptions {
  location: S3Location
  credentials: S3Credentials
  clock: Time
  /** The pause before the second try; each further one is twice as long. */
  firstPauseMs?: number
}

export function openBucket(options: BucketOptions): Bucket {
  const { location, credentials, clock, firstPauseMs = FIRST_PAUSE_MS } = options
  const { origin, bucketPath, region, place } = location
  const upstream = openUpstream({ url: origin })
  /** The keys of a day. */
  const cache = new Map<string, ArrayBuffer>()

  async function once(request: BucketRequest): Promise<Transfer> {
    const { method, key = '', query = {}, headers = {}, content, signal } = request
    const url = new URL(origin + (key === '' ? bucketPath : `${bucketPath}/${key}`))
    url.search = new URLSearchParams(query).toString()
    const signed = await new AwsV4Signer({
      ...credentials,
      method,
      url: url.href,
      headers: {
        ...headers,
        'x-amz-content-sha256': content?.sha256 ?? EMPTY.sha256,
        ...(content ? { 'content-md5': content.md5 } : {}),
      },
      service: 's3',
      ...(region ? { region } : {}),
      cache,
      allHeaders: true,
    }).sign()
    return upstream.transfer({
      method,
      url: signed.url.href,
      headers: Object.fromEntries(signed.headers),
      ...(content ? { body: content.bytes } : {}),
      deadlineMs: request.deadlineMs ?? DEADLINE_MS,
      maxBytes: request.maxBytes ?? MAX_ANSWER,
      ...(signal ? { signal } : {}),
    })
  }

  return {
    async ask(request) {
      const { method, tries = TRIES, signal } = request
      for (let attempt = 1; ; attempt += 1) {
        signal?.throwIfAborted()
        const outcome = await once(request)
        const fault = faultOf(outcome, method, place)
        if (fault === undefined && outcome.kind === 'answered') return outcome
        if (attempt >= tries || !mayPass(outcome, fault?.code)) {
          signal?.throwIfAborted()
          throw fault
        }
        const pause = Math.min(LONGEST_PAUSE_MS, firstPauseMs * 2 ** (attempt - 1))
        // Not all at once, where many were refused at once.
        const waited = clock.delay(pause * (0.5 + Math.random() / 2), { signal })
        await waited.catch(() => signal?.throwIfAborted())
      }
    },
    close: upstream.close,
  }
}

export function contentOf(bytes: Buffer): Content {
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  return { bytes, sha256, md5: createHash('md5').update(bytes).digest('base64') }
}

const EMPTY = contentOf(Buffer.alloc(0))

/** What went wrong; undefined where nothing did. */
function faultOf(outcome: Transfer, method: string, place: string): BucketError | undefined {
  if (outcome.kind === 'failed')
    return new BucketError(`the store ${place} does not answer: ${outcome.detail}`, 0, '')
  const { status, body } = outcome
  const isFine = status >= 200 && status < 300
  if (isFine && method !== 'POST') return undefined
  const said = body.subarray(0, 16 * 1024).toString()
  // What takes long is answered with 200 at once, and with how it ended in the body.
  if (isFine && !said.includes('<Error>')) return undefined
  const code = textOf(said, 'Code') ?? ''
  const why = [method, status, code, textOf(said, 'Message')?.slice(0, 300)].filter(Boolean)
  const message = `the store ${place} refuses: ${why.join(' ').replace(/[.]$/, '')}`
  return new BucketError(message, isFine ? 500 : status, code)
}

function mayPass(outcome: Transfer, code: string | undefined): boolean {
  if (outcome.kind === 'failed')
    return outcome.failure !== 'aborted' && outcome.failure !== 'address_forbidden'
  return PASSING.includes(outcome.status) || outcome.status < 300 || code === 'RequestTimeout'
}
