/** Receives the file of an export in pieces. */
import { api } from '../../api/client.ts'
import type { AuditQuery } from './filters.ts'

/** The format of an export. */
export type ExportFormat = 'csv' | 'ndjson'

/** A file that was received completely. */
export interface ReceivedFile {
  readonly name: string
  readonly content: Blob
}

/** The error of an export whose stream ended too early. */
export class BrokenExport extends Error {
  override readonly name = 'BrokenExport'
}

interface ReceiveOptions {
  readonly signal: AbortSignal
  /** Called with the number of bytes received so far. */
  readonly onProgress: (bytes: number) => void
}

/** Received pieces are joined into a part of the file at this size. The browser may store parts on disk. */
const PART_BYTES = 4_000_000

/**
 * Receives the entries that match the filters.
 * @throws ApiError when the service refuses, BrokenExport when the stream ends early
 */
export async function receiveExport(
  filters: AuditQuery,
  format: ExportFormat,
  { signal, onProgress }: ReceiveOptions,
): Promise<ReceivedFile> {
  const { data, response } = await api.GET('/api/admin/audit/export', {
    params: { query: { ...filters, format } },
    headers: { accept: '*/*' },
    parseAs: 'stream',
    signal,
  })
  const type = response.headers.get('content-type') ?? ''
  const content = await collect(
    data as ReadableStream<Uint8Array<ArrayBuffer>> | null,
    type,
    onProgress,
  )
  return { name: fileNameOf(response, format), content }
}

async function collect(
  stream: ReadableStream<Uint8Array<ArrayBuffer>> | null,
  type: string,
  onProgress: (bytes: number) => void,
): Promise<Blob> {
  const parts: Blob[] = []
  let pieces: Uint8Array<ArrayBuffer>[] = []
  let pieceBytes = 0
  let bytes = 0
  const reader = stream?.getReader()
  for (let read = await next(reader); read; read = await next(reader)) {
    pieces.push(read)
    pieceBytes += read.length
    bytes += read.length
    onProgress(bytes)
    if (pieceBytes < PART_BYTES) continue
    parts.push(new Blob(pieces))
    pieces = []
    pieceBytes = 0
  }
  return new Blob([...parts, ...pieces], { type })
}

async function next(
  reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>> | undefined,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  try {
    return (await reader?.read())?.value
  } catch (error) {
    throw new BrokenExport(String(error))
  }
}

function fileNameOf(response: Response, format: ExportFormat): string {
  const header = response.headers.get('content-disposition') ?? ''
  return /filename="([^"/\\]+)"/.exec(header)?.[1] ?? `audit.${format}`
}
