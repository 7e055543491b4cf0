import { generateKeyPairSync } from 'node:crypto'
import { expect, test } from 'vitest'
import { openNote, readVerifierKey, signNote, writeVerifierKey } from './signed-note.ts'

const signer = (name: string) => ({ name, ...generateKeyPairSync('ed25519') })

test('a note is opened with each key that signed it, and with no other', () => {
  const [ours, former, other] = [signer('log.test/a'), signer('log.test/a'), signer('log.test/a')]
  const note = signNote('some text\nin two lines\n', [ours, former])
  expect(openNote(note, ours)).toBe('some text\nin two lines\n')
  expect(openNote(note, former)).toBe('some text\nin two lines\n')
  expect(openNote(note, other)).toBeUndefined()
  expect(openNote(note.replace('some', 'same'), ours)).toBeUndefined()
  expect(openNote(note.replaceAll('log.test/a', 'log.test/b'), ours)).toBeUndefined()
  for (const malformed of ['', '\n', 'text\n', note.slice(0, -5), note.replaceAll('\n', '\r\n')])
    expect(openNote(malformed, former)).toBeUndefined()
})

// The key and the note of the Go package golang.org/x/mod/sumdb/note, which documents them as its example.
test('a note and a key that another implementation wrote are accepted', () => {
  const verifier = readVerifierKey(
    'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW',
  )
  const note =
    'If you think cryptography is the answer to your problem,\n' +
    "then you don't know what your problem is.\n\n" +
    '\u2014 PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n'
  expect(verifier && openNote(note, verifier)).toMatch(/^If you think/)
})

test('a verifier key is read as it was written, and rejected if malformed', () => {
  const ours = signer('log.test/a')
  const key = writeVerifierKey(ours)
  const read = readVerifierKey(key)
  expect(read && writeVerifierKey(read)).toBe(key)
  const [name, , encoded] = key.split('+')
  for (const malformed of [
    '',
    name ?? '',
    `${name}+00000000+${encoded}`,
    key.slice(0, -8),
    `x y${key}`,
  ])
    expect(readVerifierKey(malformed)).toBeUndefined()
})
