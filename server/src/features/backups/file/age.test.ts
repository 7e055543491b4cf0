/** Tests that age files are compatible with other programs, and that only valid files can be decrypted. */
import { execFileSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inflateSync } from 'node:zlib'
import { armor, Decrypter, Encrypter, generateIdentity, identityToRecipient } from 'age-encryption'
import * as vectors from 'cctv-age'
import { beforeAll, describe, expect, test } from 'vitest'
import { decrypt, encrypt, sealedSize, UnreadableFile } from './age.ts'

const CHUNK = 64 * 1024

let identity: string
let recipient: string
beforeAll(async () => {
  identity = await generateIdentity()
  recipient = await identityToRecipient(identity)
})

const openerOf = (...identities: string[]) => {
  const opener = new Decrypter()
  for (const one of identities) opener.addIdentity(one)
  return opener
}

async function* pieces(bytes: Uint8Array, size = 50_000): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function collect(source: AsyncIterable<Uint8Array>): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(source))
}

const sealed = (bytes: Uint8Array, ...more: string[]) =>
  collect(encrypt(pieces(bytes), [recipient, ...more]))

/** Collects the bytes that a stream yields, and its error if it fails. */
async function release(source: AsyncIterable<Uint8Array>) {
  const parts: Uint8Array[] = []
  try {
    for await (const part of source) parts.push(part)
    return { payload: Buffer.concat(parts), error: undefined }
  } catch (error) {
    return { payload: Buffer.concat(parts), error }
  }
}

/** Parses a file of the official test vectors. Returns the expected result and the encrypted bytes. */
function parseVector(bytes: Uint8Array) {
  const file = Buffer.from(bytes)
  const end = file.indexOf('\n\n')
  const lines = String(file.subarray(0, end))
    .split('\n')
    .map((line) => line.split(/: (.*)/s))
  const all = (key: string) =>
    lines.filter(([name]) => name === key).map(([, value]) => value ?? '')
  const body = file.subarray(end + 2)
  return { all, one: (key: string) => all(key)[0], body }
}

describe('the official age test vectors', () => {
  const cases = Object.entries(vectors).filter(([, bytes]) => bytes instanceof Uint8Array)

  test('are complete', () => expect(cases.length).toBeGreaterThanOrEqual(143))

  test.each(cases)('have the expected result: %s', async (_, bytes) => {
    const { all, one, body } = parseVector(bytes)
    const opener = openerOf(...all('identity'))
    for (const passphrase of all('passphrase')) opener.addPassphrase(passphrase)
    let file: Uint8Array = one('compressed') === 'zlib' ? inflateSync(body) : body
    if (one('armored')) {
      // Wardkeep never writes armored files. In the tests, the library removes the armor or rejects the file.
      try {
        file = armor.decode(String(file))
      } catch {
        return expect(one('expect')).toMatch(/failure/)
      }
    }
    const { payload, error } = await release(decrypt(pieces(file, 70_001), opener))
    expect(error === undefined).toBe(one('expect') === 'success')
    if (error !== undefined) expect(error).toBeInstanceOf(UnreadableFile)
    const expected = one('payload')
    if (expected) expect(createHash('sha256').update(payload).digest('hex')).toBe(expected)
  })
})

describe('age encryption and decryption restores a payload with this number of bytes:', () => {
  test.each([0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 3 * CHUNK + 7])('%i', async (size) => {
    const bytes = randomBytes(size)
    const file = await sealed(bytes)
    expect(await collect(decrypt(pieces(file), openerOf(identity)))).toEqual(bytes)
    // Checks each direction against the age library, which is an independent implementation.
    expect(Buffer.from(await openerOf(identity).decrypt(file))).toEqual(bytes)
    const theirs = new Encrypter()
    theirs.addRecipient(recipient)
    const made = await theirs.encrypt(bytes)
    expect(await collect(decrypt(pieces(made, 999), openerOf(identity)))).toEqual(bytes)
    expect(file.length - file.indexOf('\n', file.indexOf('\n--- ') + 5) - 1).toBe(sealedSize(size))
  })
})

test('age decryption succeeds for every recipient and rejects other identities', async () => {
  const second = await generateIdentity()
  const stranger = await generateIdentity()
  const file = await sealed(Buffer.from('all of it'), await identityToRecipient(second))
  for (const one of [identity, second])
    expect(String(await collect(decrypt(pieces(file), openerOf(one))))).toBe('all of it')
  await expect(collect(decrypt(pieces(file), openerOf(stranger)))).rejects.toThrow(UnreadableFile)
})

describe('a damaged age file', () => {
  test('is rejected wherever it is truncated', async () => {
    const file = await sealed(randomBytes(2 * CHUNK + 100))
    const payload = file.length - sealedSize(2 * CHUNK + 100)
    const cuts = [
      ...[0, 10, payload - 1, payload, payload + 15, payload + 16],
      ...[1, 2].map((chunks) => payload + 16 + chunks * (CHUNK + 16)),
      file.length - 1,
    ]
    for (const cut of cuts)
      await expect(
        collect(decrypt(pieces(file.subarray(0, cut)), openerOf(identity))),
        `cut at ${cut}`,
      ).rejects.toThrow(UnreadableFile)
  })

  test.each(['header', 'nonce', 'chunk', 'tag', 'end'])(
    'is rejected if this part was altered: %s',
    async (where) => {
      const size = CHUNK + 9
      const file = await sealed(randomBytes(size))
      const payload = file.length - sealedSize(size)
      const at = { header: 30, nonce: payload + 3, chunk: payload + 40, tag: file.length - 1 }[
        where
      ]
      const altered = at === undefined ? Buffer.concat([file, Buffer.of(0)]) : Buffer.from(file)
      if (at !== undefined) altered[at] = (altered[at] ?? 0) ^ 1
      await expect(collect(decrypt(pieces(altered), openerOf(identity)))).rejects.toThrow(
        UnreadableFile,
      )
    },
  )
})

test('age encryption reads the source only as fast as the encrypted output is read', async () => {
  let produced = 0
  async function* endless() {
    for (;;) {
      produced += CHUNK
      yield Buffer.alloc(CHUNK)
    }
  }
  const file = encrypt(endless(), [recipient])
  for (let chunks = 0; chunks < 5; chunks += 1) await file.next()
  expect(produced).toBeLessThanOrEqual(6 * CHUNK)
  await file.return(undefined)
})

const hasAge = (() => {
  try {
    return execFileSync('age', ['--version']).length > 0
  } catch {
    return false
  }
})()

test.runIf(hasAge)(
  'age encryption writes files that the age program decrypts, and reads files of that program',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'wardkeep-age-'))
    try {
      const bytes = randomBytes(3 * CHUNK + 5)
      const [key, ours, theirs] = ['key', 'ours', 'theirs'].map((name) => join(folder, name)) as [
        string,
        string,
        string,
      ]
      await writeFile(key, `${identity}\n`)
      await writeFile(ours, await sealed(bytes))
      expect(execFileSync('age', ['-d', '-i', key, ours])).toEqual(bytes)
      execFileSync('age', ['-r', recipient, '-o', theirs], { input: bytes })
      const { readFile } = await import('node:fs/promises')
      expect(await collect(decrypt(pieces(await readFile(theirs)), openerOf(identity)))).toEqual(
        bytes,
      )
    } finally {
      await rm(folder, { recursive: true })
    }
  },
)
