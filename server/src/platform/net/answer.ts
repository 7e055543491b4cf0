/** Stores the beginning of a response body and reads the rest, so that the connection can be reused. */
import { StringDecoder } from 'node:string_decoder'

/** Maximum number of bytes to read. If the body is longer, the connection is closed. */
const MAX_READ = 64 * 1024

/** The stored beginning of a body. */
export interface Body {
  /** Returns the body as text in whole characters. Replaces characters that PostgreSQL rejects. */
  text(): string
  bytes(): Buffer
}

export interface BodyReader extends Body {
  /** Reads the next chunk. Returns false if the body exceeds the limit and reading must stop. */
  take(chunk: Buffer): boolean
}

/**
 * Creates a reader for one response body.
 * @param keepBytes the number of bytes to store from the beginning
 * @param mostBytes the maximum number of bytes to read
 */
export function readBody(keepBytes: number, mostBytes = MAX_READ): BodyReader {
  const kept: Buffer[] = []
  let length = 0
  return {
    take(chunk) {
      const wanted = keepBytes - length
      // Copies the bytes, because the chunk is a view of the socket's 64 KiB buffer.
      if (wanted > 0) kept.push(Buffer.from(chunk.subarray(0, wanted)))
      length += chunk.length
      return length <= mostBytes
    },
    bytes: () => Buffer.concat(kept),
    text() {
      const bytes = Buffer.concat(kept)
      // In a truncated body, the decoder drops an incomplete last character. In a complete body, such damage stays
      // visible.
      const text = length > keepBytes ? new StringDecoder('utf8').write(bytes) : bytes.toString()
      return text.replaceAll('\0', '\uFFFD')
    },
  }
}
