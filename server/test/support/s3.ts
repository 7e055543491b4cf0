/**
 * A bucket for tests: a server that speaks S3 and verifies its signatures. The proxy in front of the server adds what
 * that server lacks (pending uploads, versions and their locks, checksums, If-Match) and simulates failures.
 */
import { createHash } from 'node:crypto'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import {
  createServer,
  request as forward,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import S3rver from '@20minutes/s3rver'
import { atTheEnd } from './cleanup.ts'

export const BUCKET = 'backups'
const KEY = 'S3RVER'

/** A request as received. */
export interface Asked {
  method: string
  path: string
  /** The object key after the bucket, without the query. */
  key: string
  query: URLSearchParams
  headers: IncomingMessage['headers']
  body: Buffer
}

/**
 * A failure that replaces the response. With `undone`, the server carries out the request, but its response is lost.
 */
export type Mishap =
  | { status: number; code?: string; message?: string }
  | 'reset'
  | 'cut'
  | 'undone'
  | 'stall'

export interface S3Server {
  /** The URL with credentials, as in BACKUP_S3_URL. */
  url: string
  asked: Asked[]
  /** Chooses which requests fail from now on. */
  breakWith(mishap: (asked: Asked) => Mishap | undefined): void
  /** The uploads that are neither completed nor aborted, by id. */
  uploads: Map<string, { key: string; begunAt: number }>
  /** The objects that were deleted without a version. In a real bucket, such a deletion only hides the object. */
  hidden: string[]
  /** The time that the bucket uses for locks and for the start of uploads. It stands still. */
  now: number
  /** The folder of the objects. */
  folder: string
  close(): Promise<void>
}

interface Front extends S3Server {
  port: number
  locks: Map<string, string>
  mishap(asked: Asked): Mishap | undefined
}

export async function openS3(): Promise<S3Server> {
  const directory = await mkdtemp(join(tmpdir(), 'wardkeep-s3-'))
  const configureBuckets = [{ name: BUCKET }]
  const options = { address: '127.0.0.1', port: 0, silent: true }
  const behind = new S3rver({ ...options, directory, configureBuckets })
  const front: Front = {
    url: '',
    asked: [],
    uploads: new Map(),
    hidden: [],
    locks: new Map(),
    now: Date.now(),
    folder: join(directory, BUCKET),
    port: (await behind.run()).port,
    mishap: () => undefined,
    breakWith(mishap) {
      front.mishap = mishap
    },
    close,
  }
  const server = createServer((request, response) => {
    // A connection that was cut needs no response.
    answer(front, request, response).catch(() => request.socket.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  front.url = `http://${KEY}:${KEY}@127.0.0.1:${port}/${BUCKET}/wardkeep`
  async function close(): Promise<void> {
    if (!server.listening) return
    const closed = new Promise((resolve) => server.close(resolve))
    server.closeAllConnections()
    await closed
    await behind.close()
    await rm(directory, { recursive: true, force: true })
  }
  atTheEnd(close)
  return front
}

async function answer(
  front: Front,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<unknown> {
  const url = new URL(request.url ?? '', 'http://front')
  const asked: Asked = {
    method: request.method ?? '',
    path: request.url ?? '',
    key: url.pathname.replace(/^\/[^/]*\/?/, ''),
    query: url.searchParams,
    headers: request.headers,
    body: Buffer.concat(await request.toArray()),
  }
  front.asked.push(asked)
  const mishap = front.mishap(asked)
  if (mishap === 'stall') return undefined
  if (mishap === 'reset') return request.socket.destroy()
  if (typeof mishap === 'object')
    return refuse(response, mishap.status, mishap.code ?? 'InternalError', mishap.message)
  if (await refused(front, asked, response)) return undefined
  const { status, headers, body } = own(front, asked) ?? paged(asked, await ask(front, asked))
  if (mishap === 'undone') return request.socket.destroy()
  response.writeHead(status, headers)
  if (mishap !== 'cut') return response.end(body)
  return response.write(body.subarray(0, body.length / 2), () => request.socket.destroy())
}

/** The number of objects on a page of a list. */
const PAGE = 2

/** Splits a list into pages, each starting after the name in the token. */
function paged({ query }: Asked, answer: Answer): Answer {
  if (!query.has('list-type') || answer.status !== 200) return answer
  const key = (object: string) => /<Key>(.*?)<\/Key>/.exec(object)?.[1] ?? ''
  const behind = query.get('continuation-token') ?? ''
  const all = String(answer.body).match(/<Contents>.*?<\/Contents>/gs) ?? []
  const rest = all.filter((object) => key(object) > behind)
  rest.sort((one, other) => (key(one) < key(other) ? -1 : 1))
  const page = rest.slice(0, PAGE)
  const next = `<NextContinuationToken>${key(page.at(-1) ?? '')}</NextContinuationToken>`
  const isCut = rest.length > PAGE
  const xml = `<ListBucketResult>${page.join('')}<IsTruncated>${isCut}</IsTruncated>${isCut ? next : ''}</ListBucketResult>`
  return { status: 200, headers: {}, body: Buffer.from(xml) }
}

interface Answer {
  status: number
  headers: OutgoingHttpHeaders
  body: Buffer
}

/** Forwards a request to the server with its original signature. */
async function ask(front: Front, asked: Asked): Promise<Answer> {
  const { method, query } = asked
  const { authorization, ...unsigned } = asked.headers
  // The server's own pagination does not work, because its tokens use a cipher that OpenSSL has removed.
  const isLater = query.has('continuation-token')
  const path = isLater ? asked.path.replace(/&continuation-token=[^&]*/, '') : asked.path
  const headers = isLater || !authorization ? unsigned : asked.headers
  const answered = await new Promise<IncomingMessage>((resolve, reject) => {
    const options = { host: '127.0.0.1', port: front.port, method, headers, path, agent: false }
    forward(options as object, resolve)
      .on('error', reject)
      .end(asked.body)
  })
  const body = Buffer.concat(await answered.toArray())
  const status = answered.statusCode ?? 0
  if (status < 300) remember(front, asked, body)
  const own: OutgoingHttpHeaders = {}
  const lock = front.locks.get(asked.key)
  if (asked.method === 'HEAD' && status < 300 && lock !== undefined)
    Object.assign(own, {
      'x-amz-version-id': `v-${asked.key}`,
      'x-amz-object-lock-mode': 'GOVERNANCE',
      'x-amz-object-lock-retain-until-date': lock,
    })
  return { status, headers: { ...answered.headers, ...own }, body }
}

/** Records the changes made by a successful request. */
function remember({ uploads, locks, now }: Front, asked: Asked, body: Buffer): void {
  const { method, key, query, headers } = asked
  const until = headers['x-amz-object-lock-retain-until-date']
  if (until !== undefined) locks.set(key, String(until))
  if (method === 'POST' && query.has('uploads')) {
    const id = /<UploadId>(.*)<\/UploadId>/.exec(String(body))?.[1] ?? ''
    uploads.set(id, { key, begunAt: now })
  }
  if (method === 'POST') uploads.delete(query.get('uploadId') ?? '')
  if (method === 'DELETE') locks.delete(key)
}

/** Handles the requests that the server does not support. */
function own(front: Front, { method, key, query }: Asked): Answer | undefined {
  const id = query.get('uploadId')
  if (method === 'DELETE' && id !== null) {
    front.uploads.delete(id)
    return { status: 204, headers: {}, body: Buffer.alloc(0) }
  }
  if (method === 'DELETE' && front.locks.has(key) && !query.has('versionId')) {
    front.hidden.push(key)
    return { status: 204, headers: { 'x-amz-delete-marker': 'true' }, body: Buffer.alloc(0) }
  }
  if (method === 'GET' && query.has('uploads')) return listed(front, query)
  return undefined
}

/** Lists the pending uploads with one upload per page, so that there are several pages. */
function listed({ uploads }: Front, query: URLSearchParams): Answer {
  const all = [...uploads]
    .filter(([, { key }]) => key.startsWith(query.get('prefix') ?? ''))
    .sort(([one], [other]) => (one < other ? -1 : 1))
  const rest = all.filter(([id]) => id > (query.get('upload-id-marker') ?? ''))
  const page = rest.slice(0, 1).map(
    ([id, { key, begunAt }]) =>
      `<Upload><Key>${key}</Key><UploadId>${id}</UploadId><Initiated>${new Date(begunAt).toISOString()}</Initiated></Upload>
       <NextKeyMarker>${key}</NextKeyMarker><NextUploadIdMarker>${id}</NextUploadIdMarker>`,
  )
  const xml = `<ListMultipartUploadsResult>${page.join('')}<IsTruncated>${rest.length > 1}</IsTruncated></ListMultipartUploadsResult>`
  return { status: 200, headers: {}, body: Buffer.from(xml) }
}

/** Refuses requests that real S3 refuses and this server accepts. */
async function refused(front: Front, asked: Asked, response: ServerResponse): Promise<boolean> {
  const { method, key, query, headers, body } = asked
  const isSent = method === 'PUT' || body.length > 0
  const sha256 = createHash('sha256').update(body).digest('hex')
  if (headers['x-amz-content-sha256'] !== sha256)
    return refuse(response, 400, 'XAmzContentSHA256Mismatch')
  const md5 = createHash('md5').update(body).digest('base64')
  if (isSent && headers['content-md5'] !== md5) return refuse(response, 400, 'BadDigest')
  const upload = query.get('uploadId')
  if (upload !== null && method !== 'DELETE' && front.uploads.get(upload)?.key !== key)
    return refuse(response, 404, 'NoSuchUpload')
  const lock = front.locks.get(key)
  if (method === 'DELETE' && query.has('versionId') && lock && Date.parse(lock) > front.now)
    return refuse(
      response,
      403,
      'AccessDenied',
      'Access Denied because object protected by object lock.',
    )
  const isEmpty = async () =>
    (await stat(join(front.folder, `${key}._S3rver_object`)).catch(() => undefined))?.size === 0
  if (method === 'GET' && headers.range && (await isEmpty()))
    return refuse(response, 416, 'InvalidRange')
  return false
}

function refuse(response: ServerResponse, status: number, code: string, message = code): true {
  response.writeHead(status)
  response.end(`<Error><Code>${code}</Code><Message>${message}</Message></Error>`)
  return true
}
