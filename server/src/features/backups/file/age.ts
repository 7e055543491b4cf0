/**
 * Encrypts and decrypts files in the age v1 format (age-encryption.org/v1). The age library creates and reads the
 * header, which wraps the file key for each recipient. The payload is encrypted with Node's ChaCha20-Poly1305 as a
 * stream, which keeps at most two chunks in memory.
 */
import {
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto'
import { type Decrypter, Encrypter, type Recipient, Stanza } from 'age-encryption'
import { releaseChunk } from '../../../lib/free-memory.ts'

const CHUNK_BYTES = 64 * 1024
const TAG_BYTES = 16
const NONCE_BYTES = 16
/** The largest accepted header. The format has no limit, but a backup never has enough recipients to need more. */
const MAX_HEADER_BYTES = 64 * 1024
const CIPHER = 'chacha20-poly1305'
const MAC_LINE = '\n--- '

/** Thrown for a file that cannot be decrypted: truncated, altered, or encrypted for other recipients. */
export class UnreadableFile extends Error {}

/** Encrypts a stream so that each recipient can decrypt it. @param recipients age recipients (`age1…`), at least one */
export async function* encrypt(
  source: AsyncIterable<Uint8Array>,
  recipients: readonly string[],
): AsyncGenerator<Buffer> {
  const { header, fileKey } = await newHeader(recipients)
  const nonce = randomBytes(NONCE_BYTES)
  yield Buffer.concat([header, nonce])
  const key = payloadKey(fileKey, nonce)
  const counter = chunkCounter()
  const seal = (chunk: Uint8Array, isLast: boolean) => {
    const cipher = createCipheriv(CIPHER, key, counter.next(isLast), { authTagLength: TAG_BYTES })
    const text = cipher.update(chunk)
    const sealed = Buffer.concat([text, cipher.final(), cipher.getAuthTag()])
    releaseChunk(text)
    return sealed
  }
  for await (const { chunk, isLast } of inChunks(source, CHUNK_BYTES)) yield seal(chunk, isLast)
}

/**
 * Decrypts a stream.
 * @param opener the decrypter with the identities to try on the header
 * @throws UnreadableFile if the file is truncated, was altered, or was encrypted for none of the identities. Bytes
 * yielded before the error are authentic, but may be incomplete.
 */
export async function* decrypt(
  source: AsyncIterable<Uint8Array>,
  opener: Pick<Decrypter, 'decryptHeader'>,
): AsyncGenerator<Buffer> {
  const { header, rest } = await splitHeader(source)
  const fileKey = await openHeader(header, opener)
  const sealed = skipping(rest, NONCE_BYTES)
  const nonce = await sealed.head
  const key = payloadKey(fileKey, nonce)
  const counter = chunkCounter()
  let isFirst = true
  for await (const { chunk, isLast } of inChunks(sealed.tail(), CHUNK_BYTES + TAG_BYTES)) {
    // An empty last chunk is valid only if the whole payload is empty.
    if (chunk.length < TAG_BYTES || (chunk.length === TAG_BYTES && !isFirst))
      throw new UnreadableFile('the file is truncated')
    isFirst = false
    const text = openChunk(key, counter.next(isLast), chunk)
    if (text) yield text
    else {
      // The chunk may be valid except for its end marker. Data after the chunk was then removed or added.
      const isFull = chunk.length === CHUNK_BYTES + TAG_BYTES
      const whole = isFull ? openChunk(key, counter.again(!isLast), chunk) : undefined
      if (whole) yield whole
      throw new UnreadableFile(
        whole ? 'the file is truncated or has extra data' : 'the file was altered',
      )
    }
  }
}

/** Decrypts a chunk. Returns undefined if the chunk is not authentic for this key and nonce. */
function openChunk(key: KeyObject, nonce: Buffer, chunk: Buffer): Buffer | undefined {
  const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES })
  decipher.setAuthTag(chunk.subarray(-TAG_BYTES))
  const text = decipher.update(chunk.subarray(0, -TAG_BYTES))
  try {
    decipher.final()
    return text
  } catch {
    return undefined
  }
}

/** Returns the size of an encrypted payload in bytes, without the header. */
export const sealedSize = (bytes: number): number =>
  NONCE_BYTES + bytes + Math.max(1, Math.ceil(bytes / CHUNK_BYTES)) * TAG_BYTES

/**
 * Creates the header for a new file key. The library does not return the file key. Therefore the function encrypts an
 * empty file with the library, with an additional recipient that captures the file key.
 */
async function newHeader(recipients: readonly string[]) {
  const encrypter = new Encrypter()
  let fileKey: Uint8Array | undefined
  const keyRecorder: Recipient = {
    wrapFileKey(key) {
      fileKey = Uint8Array.from(key)
      // Age programs ignore unknown stanzas. The format recommends adding random ones ("grease").
      return [new Stanza([`${randomBytes(4).toString('hex')}-grease`], randomBytes(32))]
    },
  }
  for (const recipient of recipients) encrypter.addRecipient(recipient)
  encrypter.addRecipient(keyRecorder)
  const file = Buffer.from(await encrypter.encrypt(new Uint8Array()))
  if (!fileKey) throw new Error('the age library did not wrap the file key')
  return { header: file.subarray(0, endOfHeader(file)), fileKey }
}

/** Returns the offset after the line with the header's MAC, where the header ends; -1 if the header is incomplete. */
function endOfHeader(bytes: Buffer): number {
  const mac = bytes.indexOf(MAC_LINE)
  const end = mac < 0 ? -1 : bytes.indexOf('\n', mac + MAC_LINE.length)
  return end < 0 ? -1 : end + 1
}

async function openHeader(
  header: Buffer,
  opener: Pick<Decrypter, 'decryptHeader'>,
): Promise<Uint8Array> {
  try {
    return await opener.decryptHeader(header)
  } catch (cause) {
    throw new UnreadableFile(
      'the configured root key does not decrypt it. Configure the root key that the backup was created with',
      {
        cause,
      },
    )
  }
}

async function splitHeader(source: AsyncIterable<Uint8Array>) {
  const chunks = source[Symbol.asyncIterator]()
  let bytes = Buffer.alloc(0)
  for (;;) {
    const end = endOfHeader(bytes)
    if (end >= 0) {
      const first = bytes.subarray(end)
      return { header: bytes.subarray(0, end), rest: followedBy(first, chunks) }
    }
    const next = await chunks.next()
    if (next.done || bytes.length > MAX_HEADER_BYTES)
      throw new UnreadableFile('the file is not encrypted with age')
    bytes = Buffer.concat([bytes, next.value])
  }
}

async function* followedBy(
  first: Uint8Array,
  rest: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  try {
    yield first
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value
  } finally {
    await rest.return?.()
  }
}

/** Splits a source into its first bytes and the remaining stream. */
function skipping(source: AsyncGenerator<Uint8Array>, bytes: number) {
  let rest: Buffer = Buffer.alloc(0)
  const head = (async () => {
    while (rest.length < bytes) {
      const next = await source.next()
      if (next.done) throw new UnreadableFile('the file is truncated')
      rest = Buffer.concat([rest, next.value])
    }
    const taken = rest.subarray(0, bytes)
    rest = rest.subarray(bytes)
    return taken
  })()
  return { head, tail: () => followedBy(rest, source) }
}

/**
 * Yields the bytes in chunks of `size`. Only the last chunk may be shorter, and it is empty only if the source is
 * empty. All chunks share one buffer to avoid garbage, so the caller must use each chunk before it requests the next
 * one.
 */
async function* inChunks(source: AsyncIterable<Uint8Array>, size: number) {
  const room = Buffer.allocUnsafeSlow(size)
  let length = 0
  for await (const part of source)
    for (let from = 0; from < part.length; ) {
      // Yields a full chunk only when more bytes follow, because the last chunk must not be empty.
      if (length === size) {
        yield { chunk: room, isLast: false }
        length = 0
      }
      const taken = part.subarray(from, from + size - length)
      room.set(taken, length)
      from += taken.length
      length += taken.length
    }
  yield { chunk: room.subarray(0, length), isLast: true }
}

// Creates the key object in advance, because Node would otherwise create one for each chunk, which is slower.
const payloadKey = (fileKey: Uint8Array, nonce: Uint8Array): KeyObject =>
  createSecretKey(Buffer.from(hkdfSync('sha256', fileKey, nonce, 'payload', 32)))

/** Returns functions that produce nonces: an eleven-byte counter, then a byte that is 1 for the last chunk. */
function chunkCounter() {
  let count = -1
  const again = (isLast: boolean): Buffer => {
    const nonce = Buffer.alloc(12)
    nonce.writeUIntBE(count, 5, 6)
    nonce[11] = isLast ? 1 : 0
    return nonce
  }
  return {
    next(isLast: boolean): Buffer {
      count += 1
      return again(isLast)
    },
    /** Returns the nonce of the current chunk without advancing the counter. */
    again,
  }
}
