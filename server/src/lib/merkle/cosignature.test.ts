import { generateKeyPairSync, sign } from 'node:crypto'
import { expect, test } from 'vitest'
import {
  COSIGNATURE_V1,
  signatureLine,
  signNote,
  splitNote,
  writeVerifierKey,
} from '../signed-note.ts'
import { findCosignature, readWitnessKey } from './cosignature.ts'

const witness = { name: 'witness.test/w1', ...generateKeyPairSync('ed25519') }
const TEXT = 'log.test/7/1\n12\nsFodV/vSp5O8n9a8QpW6PRY97tfOSW5bsc2Xl/EQi08=\n'

/** Cosigns a text as C2SP tlog-cosignature defines it. */
function lineOf(text: string, time: bigint, by = witness): string {
  const stamp = Buffer.alloc(8)
  stamp.writeBigUInt64BE(time)
  const signed = Buffer.from(`cosignature/v1\ntime ${time}\n${text}`)
  const signature = sign(null, signed, by.privateKey)
  return signatureLine(by, COSIGNATURE_V1, Buffer.concat([stamp, signature]))
}

test('the key of a witness is read as it was written, and a key of a log is rejected', () => {
  const key = writeVerifierKey(witness, COSIGNATURE_V1)
  const read = readWitnessKey(key)
  expect(read && writeVerifierKey(read, COSIGNATURE_V1)).toBe(key)
  expect(readWitnessKey(writeVerifierKey(witness))).toBeUndefined()
  expect(readWitnessKey(key.slice(0, -4))).toBeUndefined()
})

test('a cosignature is found between lines of unknown keys and malformed lines', () => {
  const other = { ...generateKeyPairSync('ed25519'), name: witness.name }
  const line = lineOf(TEXT, 1_679_315_147n)
  const lines = `${lineOf(TEXT, 1n, other)}\u2014 x y\nnoise\n${line}`
  expect(findCosignature(TEXT, lines, witness)).toEqual({ line, time: 1_679_315_147 })
})

test.each([
  ['another text', lineOf(TEXT.replace('12', '13'), 5n)],
  ['another key', lineOf(TEXT, 5n, { ...witness, ...generateKeyPairSync('ed25519') })],
  ['another name', lineOf(TEXT, 5n).replace('/w1', '/w2')],
  ['the key as a key of a log', splitNote(signNote(TEXT, [witness]))?.lines ?? ''],
  ['a time that no computer can count', lineOf(TEXT, 2n ** 63n)],
  ['no signature', signatureLine(witness, COSIGNATURE_V1, Buffer.alloc(8))],
  ['no line', ''],
])('a cosignature with %s is rejected', (_, lines) => {
  expect(findCosignature(TEXT, lines, witness)).toBeUndefined()
})

test('a cosignature with another time than the signed one is rejected', () => {
  const [, name, encoded = ''] = lineOf(TEXT, 5n).trim().split(' ')
  const bytes = Buffer.from(encoded, 'base64')
  bytes.writeBigUInt64BE(6n, 4)
  const line = `\u2014 ${name} ${bytes.toString('base64')}\n`
  expect(findCosignature(TEXT, line, witness)).toBeUndefined()
})

// The example in C2SP tlog-cosignature. Its key is not published, so only its form can be compared.
test('a line has the form of the specification', () => {
  const line =
    '\u2014 witness.example.com/w1 jWbPPwAAAABkGFDLEZMHwSRaJNiIDoe9DYn/zXcrtPHeolMI5OWXEhZCB9dlrDJsX3b2oyin1nPZqhf5nNo0xUe+mbIUBkBIfZ+qnA=='
  const ours = lineOf(TEXT, 1_679_315_147n)
  const bytesOf = (text: string) => Buffer.from(text.trim().split(' ')[2] ?? '', 'base64')
  expect(bytesOf(ours)).toHaveLength(bytesOf(line).length)
  expect(bytesOf(ours).subarray(4, 12)).toEqual(bytesOf(line).subarray(4, 12))
})
