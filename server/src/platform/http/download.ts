/** An operation that hands out a file: streamed, and in parts where the caller asks for them (RFC 9110 §14). */
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import Type, { type TSchema } from 'typebox'
import { Problem } from '../../lib/problems.ts'

/** Bytes of a file, both inclusive, counted from 0. */
export interface ByteRange {
  start: number
  end: number
}

/** What the handler answers with. */
export interface Download {
  /** What the file is called where it is saved: ASCII without quotes. */
  name: string
  /** The content type, where the operation has several. */
  type?: string
  /** Yields the file, or the part that is asked for. Ended early when the caller goes away. */
  open(range?: ByteRange): AsyncIterable<Uint8Array>
  /** Where both are known parts of it can be asked for. The tag is that of the content, without quotes. */
  whole?: { size: number; etag: string }
}

/** As the success schema of an operation: its handler answers with a `Download` of this type. */
export const FileOf = (contentMediaType: string, { ranges = false } = {}) =>
  Type.Unsafe<Download>({ type: 'string', format: 'binary', contentMediaType, ranges })

/** As `FileOf`, of JSON as `content` describes it. */
export const JsonFileOf = (content: TSchema) =>
  Type.Unsafe<Download>({
    contentMediaType: 'application/json; charset=utf-8',
    ranges: false,
    content,
  })

/** As `FileOf`, of text in several types, each with an example. The `Download` says which one it has. */
export const TextFileOf = (textExamples: Readonly<Record<string, string>>) =>
  Type.Unsafe<Download>({
    contentMediaType: Object.keys(textExamples)[0],
    ranges: false,
    textExamples,
  })

interface FileSchema {
  contentMediaType: string
  ranges: boolean
  /** Examples of text files by their type. */
  textExamples?: Readonly<Record<string, string>>
  /** Of JSON, what is in it. */
  content?: TSchema
}

/** The kind of file that an operation hands out; undefined for others. */
export function fileOf(schema: TSchema | null): FileSchema | undefined {
  const file = schema as Partial<FileSchema> | null
  return file?.contentMediaType === undefined ? undefined : (file as FileSchema)
}

/**
 * Answers with the file, or with the part that `Range` and `If-Range` ask for.
 * @throws what `open` throws before its first bytes: the answer is of that, and nothing of the file's
 */
export async function sendDownload(
  request: FastifyRequest,
  reply: FastifyReply,
  { contentMediaType }: FileSchema,
  { name, type = contentMediaType, open, whole }: Download,
): Promise<FastifyReply> {
  const range = whole && rangeOf(request, reply, whole)
  // HEAD has the headers alone: nothing is opened for it.
  const bytes = request.method === 'HEAD' ? [] : await begun(open(range))
  reply.header('content-type', type)
  reply.header('content-disposition', `attachment; filename="${name}"`)
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

/** An answer that waits behind another one on its connection does not hear of the connection's end. */
function endWith(socket: Socket, stream: Readable): void {
  const end = () => void stream.destroy()
  socket.once('close', end)
  stream.once('close', () => void socket.off('close', end))
  if (socket.destroyed) end()
}

/** The same, of which the first is there. Ended as it would be, even where nobody takes that one. */
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
 * The one part that is asked for; undefined for the whole, as for several parts at once, which nobody
 * has to serve, and for a part of a file that has changed.
 * @throws Problem 416 where the file ends before it
 */
function rangeOf(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  { size, etag }: { size: number; etag: string },
): ByteRange | undefined {
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
