import { generateKeyPairSync } from 'node:crypto'
import { expect, test } from 'vitest'
import { signNote } from '../signed-note.ts'
import { isSignedBy, MalformedCheckpoint, readCheckpoint, writeCheckpoint } from './checkpoint.ts'
import { EMPTY_ROOT } from './tree.ts'

const signer = { name: 'log.test/audit/a', ...generateKeyPairSync('ed25519') }
const head = { origin: 'log.test/audit/a/7/1', size: 12, root: EMPTY_ROOT }
const note = signNote(writeCheckpoint(head), [signer])

test('a head is read as it was written', () => {
  expect(readCheckpoint(note)).toEqual(head)
  expect(
    readCheckpoint(signNote(writeCheckpoint({ ...head, size: 0 }), [signer, signer])).size,
  ).toBe(0)
})

test('extension lines are accepted', () => {
  expect(readCheckpoint(signNote(`${writeCheckpoint(head)}extension\n`, [signer]))).toEqual(head)
})

test.each([
  ['an empty text', ''],
  ['CRLF', note.replaceAll('\n', '\r\n')],
  ['two heads', note + note],
  ['two heads and a blank line', `${note}\n${note}`],
  ['a cut signature line', note.slice(0, -1)],
  ['a text without signatures', writeCheckpoint(head)],
  ['a head that is cut before its signatures', note.slice(0, note.indexOf('\n\n') + 2)],
  ['a size with a leading zero', note.replace('\n12\n', '\n012\n')],
  ['a negative size', note.replace('\n12\n', '\n-12\n')],
  ['a size beyond 2^53', note.replace('\n12\n', '\n9007199254740993\n')],
  ['a short root', note.replace(EMPTY_ROOT.toString('base64'), 'AAAA')],
  ['another text below', `${note}more\n`],
  ['a very long text', note + '\u2014 x AAAA\n'.repeat(5_000)],
])('%s is refused with a sentence', (_, malformed) => {
  expect(() => readCheckpoint(malformed)).toThrow(MalformedCheckpoint)
  expect(() => readCheckpoint(malformed)).toThrow(/^It is not the signed head of a log: .+\.$/)
})

test('a head counts only if a key signed it whose name begins its origin', () => {
  const other = { ...generateKeyPairSync('ed25519'), name: signer.name }
  expect(isSignedBy(note, [other, signer])).toBe(true)
  expect(isSignedBy(note, [other])).toBe(false)
  expect(isSignedBy(note.replace('\n12\n', '\n13\n'), [signer])).toBe(false)
  const foreign = signNote(writeCheckpoint({ ...head, origin: 'other.test/7/1' }), [signer])
  expect(isSignedBy(foreign, [signer])).toBe(false)
})
