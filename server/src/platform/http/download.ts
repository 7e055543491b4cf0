/** Operations that return a file, or a requested byte range of it, as a stream (RFC 9110 §14). */
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import Type, { type TSchema } from 'typebox'
import { Problem } from '../../lib/problems.ts'

/** A range of byte positions, counted from 0. It includes both `start` and `end`. */
export interface RequestedRange {
  start: number
  end: number
}

export interface Download {
  /** The file name that browsers suggest: ASCII without quotes. */
  name: string
  /** The content type, if the operation can return several types. */
  type?: string
  /** Yields the whole file, or the requested range. The iterator is closed early if the caller disconnects. */
  open(range?: RequestedRange): AsyncIterable<Uint8Array>
  /** The file's size and entity tag (without quotes). If absent, callers cannot request ranges. */
  whole?: { size: number; etag: string }
  /** How long the caller may keep the file without asking again, in seconds, if its content never changes. */
  unchangedSeconds?: number
}

/** Returns the success schema of an operation that returns a `Download` with this content type. */
export const FileOf = (contentMediaType: string, { ranges = false } = {}) =>
  Type.Unsafe<Download>({ type: 'string', format: 'binary', contentMediaType, ranges })

/** Works like `FileOf` for a JSON file. The `content` schema describes the JSON. */
export const JsonFileOf = (content: TSchema) =>
  Type.Unsafe<Download>({
    contentMediaType: 'application/json; charset=utf-8',
    ranges: false,
    content,
  })

/** Works like `FileOf` for text in several content types, each with an example. The `Download` contains the type. */
export const TextFileOf = (textExamples: Readonly<Record<string, string>>) =>
  Type.Unsafe<Download>({
    contentMediaType: Object.keys(textExamples)[0],
    ranges: false,
    textExamples,
  })

interface FileSchema {
  contentMediaType: string
  ranges: boolean
  /** Examples of the text file by content type. */
  textExamples?: Readonly<Record<string, string>>
  content?: TSchema
}

/** Returns the file schema of an operation that returns a file, or undefined for any other schema. */
export function fileOf(schema: TSchema | null): FileSchema | undefined {
  const file = schema as Partial<FileSchema> | null
  return file?.contentMediaType === undefined ? undefined : (file as FileSchema)
}

/** Sends the file, or the range of `Range` and `If-Range`. @throws any error of `open` before the first bytes */
export async function sendDownload(
  request: FastifyRequest,
  reply: FastifyReply,
  { contentMediaType }: FileSchema,
  { name, type = contentMediaType, open, whole, unchangedSeconds }: Download,
): Promise<FastifyReply> {
  const range = whole && rangeOf(request, reply, whole)
  // HEAD needs only the headers, so the file is not opened.
  const bytes = request.method === 'HEAD' ? [] : await begun(open(range))
  reply.header('content-type', type)
  reply.header('content-disposition', `attachment; filename="${name}"`)
  if (unchangedSeconds !== undefined) {
    reply.header('cache-control', `private, max-age=${unchangedSeconds}, immutable`)
    reply.header('vary', 'authorization')
  }
  if (whole) {
    reply.header('accept-ranges', 'bytes').header('etag', `"${whole.etag}"`)
    reply.header('content-length', range ? range.end - range.start + 1 : whole.size)
    if (range) {
      reply.code(206)
      reply.header('content-range', `bytes ${range.start}-${range.end}/${whole.size}`)
    }
  }
  const stream = Readable.from(bytes, { objectMode: false })
  endWith(request.raw.socket, stream)
  return reply.send(stream)
}

/** Destroys the stream when the connection closes. A queued response gets no event in this case. */
function endWith(socket: Socket, stream: Readable): void {
  const end = () => void stream.destroy()
  socket.once('close', end)
  stream.once('close', () => void socket.off('close', end))
  if (socket.destroyed) end()
}

/** Reads the first element in advance. Ending the result ends its source, even if nothing was consumed. */
async function begun<T>(source: AsyncIterable<T>): Promise<AsyncIterable<T>> {
  const iterator = source[Symbol.asyncIterator]()
  let first: IteratorResult<T> | undefined = await iterator.next()
  return {
    [Symbol.asyncIterator]: () => ({
      async next() {
        const next = first ?? (await iterator.next())
        first = undefined
        return next
      },
      return: async () => (await iterator.return?.()) ?? { done: true, value: undefined },
    }),
  }
}

/**
 * Returns the byte range, or undefined to send the whole file: without `Range`, for several ranges, or if the file has
 * changed. @throws Problem 416 if the file ends before the range starts
 */
function rangeOf(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  { size, etag }: { size: number; etag: string },
): RequestedRange | undefined {
  const asked = /^bytes=(?:(\d{1,15})-(\d{0,15})|-(\d{1,15}))$/.exec(headers.range ?? '')
  const condition = headers['if-range']
  if (!asked || (condition !== undefined && condition !== `"${etag}"`)) return undefined
  const [, first, last, suffix] = asked
  const start = first === undefined ? Math.max(0, size - Number(suffix)) : Number(first)
  const end = first === undefined || !last ? size - 1 : Math.min(Number(last), size - 1)
  if (last && Number(last) < start) return undefined
  if (start >= size || end < start) {
    reply.header('content-range', `bytes */${size}`)
    throw new Problem('range_not_satisfiable')
  }
  return { start, end }
}
