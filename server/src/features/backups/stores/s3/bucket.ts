/** Sends signed requests to one bucket. Each attempt has a deadline, and transient failures are retried. */
import { createHash } from 'node:crypto'
import { AwsV4Signer } from 'aws4fetch'
import type { S3Credentials, S3Location } from '../../../../config/s3-url.ts'
import { SECOND } from '../../../../lib/clock.ts'
import type { Time } from '../../../../lib/time.ts'
import { openUpstream, type Transfer } from '../../../../platform/net/index.ts'
import { StoreError } from '../store.ts'
import { textOf } from './xml.ts'

const DEADLINE_MS = 10 * SECOND
/** The maximum size of a response. It is large enough for a page of a listing with a thousand names. */
const MAX_ANSWER = 4 * 1024 ** 2
const TRIES = 5
const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 8 * SECOND
/** The HTTP statuses of transient failures. */
const PASSING = [408, 429, 500, 502, 503, 504]

type Answered = Extract<Transfer, { kind: 'answered' }>

export interface Content {
  bytes: Buffer
  /** The SHA-256 in hexadecimal, and the MD5 in base64 (RFC 1864). */
  sha256: string
  md5: string
}

export interface BucketRequest {
  method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE'
  /** The key of the object, including the prefix. Empty for a request to the bucket itself. */
  key?: string
  query?: Record<string, string>
  headers?: Record<string, string>
  content?: Content
  /** The time limit of one attempt, in milliseconds. */
  deadlineMs?: number
  tries?: number
  maxBytes?: number
  signal?: AbortSignal | undefined
}

export interface Bucket {
  /** Sends a request. @throws BucketError if it is rejected or all attempts fail; the signal's reason if aborted */
  ask(request: BucketRequest): Promise<Answered>
  close(): Promise<void>
}

/** Thrown when the bucket rejected a request or did not respond. */
export class BucketError extends StoreError {
  /** The HTTP status; 0 if there was no response. */
  readonly status: number
  /** The error code of S3, such as NoSuchKey; empty if the response has none. */
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
  /** The pause before the second attempt, in milliseconds. The pause doubles after each further attempt. */
  firstPauseMs?: number
}

export function openBucket(options: BucketOptions): Bucket {
  const { location, credentials, clock, firstPauseMs = FIRST_PAUSE_MS } = options
  const { origin, bucketPath, region, place } = location
  const upstream = openUpstream({ url: origin })
  /** Caches signing keys, which are valid for a day. */
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
        // Adds jitter, so that requests that failed at the same time are not retried at the same time.
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

/** Returns the error of a request; undefined if the request succeeded. */
function faultOf(outcome: Transfer, method: string, place: string): BucketError | undefined {
  if (outcome.kind === 'failed')
    return new BucketError(`the backup store ${place} did not respond: ${outcome.detail}`, 0, '')
  const { status, body } = outcome
  const isFine = status >= 200 && status < 300
  if (isFine && method !== 'POST') return undefined
  const said = body.subarray(0, 16 * 1024).toString()
  // For a slow request, S3 sends status 200 at once. The body then contains the actual result.
  if (isFine && !said.includes('<Error>')) return undefined
  const code = textOf(said, 'Code') ?? ''
  const why = [method, status, code, textOf(said, 'Message')?.slice(0, 300)].filter(Boolean)
  const message = `the backup store ${place} rejected a request: ${why.join(' ').replace(/[.]$/, '')}`
  return new BucketError(message, isFine ? 500 : status, code)
}

function mayPass(outcome: Transfer, code: string | undefined): boolean {
  if (outcome.kind === 'failed')
    return outcome.failure !== 'aborted' && outcome.failure !== 'address_forbidden'
  return PASSING.includes(outcome.status) || outcome.status < 300 || code === 'RequestTimeout'
}
