/** Keeps the beginning of an answer's body, and reads on so that the connection can be used again. */
import { StringDecoder } from 'node:string_decoder'

/** Up to here a body is read on; of a longer one the connection is ended. */
const MAX_READ = 64 * 1024

/** What was kept of a body. */
export interface Body {
  /** As text: whole characters, and none that PostgreSQL refuses. */
  text(): string
  bytes(): Buffer
}

export interface BodyReader extends Body {
  /** Takes the next piece. Returns false when enough was read. */
  take(chunk: Buffer): boolean
}

/**
 * @param keepBytes how many bytes at the beginning are kept
 * @param mostBytes how many are read at the most
 */
export function readBody(keepBytes: number, mostBytes = MAX_READ): BodyReader {
  const kept: Buffer[] = []
  let length = 0
  return {
    take(chunk) {
      const wanted = keepBytes - length
      // A copy: the chunk is a window on the socket's buffer of 64 KiB.
      if (wanted > 0) kept.push(Buffer.from(chunk.subarray(0, wanted)))
      length += chunk.length
      return length <= mostBytes
    },
    bytes: () => Buffer.concat(kept),
    text() {
      const bytes = Buffer.concat(kept)
      // The decoder holds back a character that was cut in two; of a whole body it shows the damage.
      const text = length > keepBytes ? new StringDecoder('utf8').write(bytes) : bytes.toString()
      return text.replaceAll('\0', '\uFFFD')
    },
  }
}
