/**
 * Files in the age v1 format (age-encryption.org/v1): the header by its library, which wraps the file key
 * for each recipient; the payload here, on Node's own ChaCha20-Poly1305, as a stream that keeps a chunk
 * or two in memory.
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
import { letGo } from '../../../lib/let-go.ts'

const CHUNK_BYTES = 64 * 1024
const TAG_BYTES = 16
const NONCE_BYTES = 16
/** The format's own limit is none; a header of more recipients than this is no backup's. */
const MAX_HEADER_BYTES = 64 * 1024
const CIPHER = 'chacha20-poly1305'
const MAC_LINE = '\n--- '

/** What does not open: cut, altered, or made for somebody else. */
export class UnreadableFile extends Error {}

/**
 * Yields the file's bytes: encrypted for each recipient.
 * @param recipients `age1…`, one at least
 */
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
    letGo(text)
    return sealed
  }
  for await (const { chunk, isLast } of inChunks(source, CHUNK_BYTES)) yield seal(chunk, isLast)
}

/**
 * Yields what the file holds.
 * @param opener knows the identities that the header is tried with
 * @throws UnreadableFile when it was made for none of them, cut, or altered: what was yielded before
 * is authentic, but may not be all
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
    // Only a file that holds nothing at all ends with an empty chunk.
    if (chunk.length < TAG_BYTES || (chunk.length === TAG_BYTES && !isFirst))
      throw new UnreadableFile('the file is cut')
    isFirst = false
    const text = openChunk(key, counter.next(isLast), chunk)
    if (text) yield text
    else {
      // Authentic, but for the end: cut behind it, or with bytes behind what was the last.
      const isFull = chunk.length === CHUNK_BYTES + TAG_BYTES
      const whole = isFull ? openChunk(key, counter.again(!isLast), chunk) : undefined
      if (whole) yield whole
      throw new UnreadableFile(whole ? 'the file is cut or goes on' : 'the file was altered')
    }
  }
}

/** What the chunk holds; undefined when it was not sealed so. */
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

/** The bytes that a payload of so many has as a file, without its header. */
export const sealedSize = (bytes: number): number =>
  NONCE_BYTES + bytes + Math.max(1, Math.ceil(bytes / CHUNK_BYTES)) * TAG_BYTES

/** A header for a new file key: the library's own of an empty file, whose key a recipient of ours sees. */
async function newHeader(recipients: readonly string[]) {
  const encrypter = new Encrypter()
  let fileKey: Uint8Array | undefined
  const seen: Recipient = {
    wrapFileKey(key) {
      fileKey = Uint8Array.from(key)
      // A stanza that no program knows is passed over; the format asks for random ones ("grease").
      return [new Stanza([`${randomBytes(4).toString('hex')}-grease`], randomBytes(32))]
    },
  }
  for (const recipient of recipients) encrypter.addRecipient(recipient)
  encrypter.addRecipient(seen)
  const file = Buffer.from(await encrypter.encrypt(new Uint8Array()))
  if (!fileKey) throw new Error('the library did not ask to wrap the file key')
  return { header: file.subarray(0, endOfHeader(file)), fileKey }
}

/** Where the header ends, behind its MAC's line; -1 when the bytes hold no whole one. */
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
      'the root key given here does not open it; give the root key that the backup was made with',
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
    if (next.done || bytes.length > MAX_HEADER_BYTES) throw new UnreadableFile('no age file')
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

/** The first bytes of a source, and all behind them. */
function skipping(source: AsyncGenerator<Uint8Array>, bytes: number) {
  let rest: Buffer = Buffer.alloc(0)
  const head = (async () => {
    while (rest.length < bytes) {
      const next = await source.next()
      if (next.done) throw new UnreadableFile('the file is cut')
      rest = Buffer.concat([rest, next.value])
    }
    const taken = rest.subarray(0, bytes)
    rest = rest.subarray(bytes)
    return taken
  })()
  return { head, tail: () => followedBy(rest, source) }
}

/**
 * The bytes in pieces of one size, the last one with what is left: never empty unless there is nothing at
 * all. Each lies where the one before it lay, so that nothing is left to be collected.
 */
async function* inChunks(source: AsyncIterable<Uint8Array>, size: number) {
  const room = Buffer.allocUnsafeSlow(size)
  let length = 0
  for await (const part of source)
    for (let from = 0; from < part.length; ) {
      // Not before more comes: one byte at least stays for the last.
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

// As bytes it would be made a key object for each chunk, and in a slower way.
const payloadKey = (fileKey: Uint8Array, nonce: Uint8Array): KeyObject =>
  createSecretKey(Buffer.from(hkdfSync('sha256', fileKey, nonce, 'payload', 32)))

/** The nonces of the chunks: eleven bytes that count, and one that says which is the last. */
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
    /** That of the same chunk once more. */
    again,
  }
}
