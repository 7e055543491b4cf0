/** Tests the witnesses of the audit log: one sentence for each fault, also if one variable has several. */
import { generateKeyPairSync } from 'node:crypto'
import { expect, test } from 'vitest'
import { COSIGNATURE_V1, writeVerifierKey } from '../lib/signed-note.ts'
import { StartupError } from '../lib/startup-error.ts'
import { readConfig } from './config.ts'

const verifier = (name: string) => ({ name, ...generateKeyPairSync('ed25519') })
const keyOf = (name: string) => writeVerifierKey(verifier(name), COSIGNATURE_V1)
const ONE = `https://one.example ${keyOf('one.example/w1')}`
const TWO = `https://two.example/witness/ ${keyOf('two.example')}`

function faultsOf(text: string): readonly string[] {
  try {
    readConfig({ AUDIT_WITNESSES: text })
  } catch (error) {
    if (error instanceof StartupError) return error.lines
    throw error
  }
  return []
}

test('witnesses are read in their order', () => {
  const { AUDIT_WITNESSES: witnesses } = readConfig({ AUDIT_WITNESSES: `${ONE}, ${TWO},` })
  expect(witnesses.map(({ url, verifier: { name } }) => [url.href, name])).toEqual([
    ['https://one.example/', 'one.example/w1'],
    ['https://two.example/witness/', 'two.example'],
  ])
  expect(readConfig({}).AUDIT_WITNESSES).toEqual([])
})

test.each([
  ['without a key', 'https://one.example', 'must be the URL of a witness, a blank and its'],
  ['without a URL', keyOf('one'), 'must be the URL of a witness, a blank and its verifier key'],
  ['with more words', `${ONE} more`, 'must be the URL of a witness, a blank and its verifier key'],
  ['with http', `http://one.example ${keyOf('one')}`, 'must begin with an https URL'],
  ['with a host only', `one.example ${keyOf('one')}`, 'must begin with an https URL'],
  ['with a password', `https://a:secret@one.example ${keyOf('one')}`, 'without a user and a'],
  ['with a query', `https://one.example?a=b ${keyOf('one')}`, 'without a query string and a'],
  ['with a fragment', `https://one.example# ${keyOf('one')}`, 'without a query string and a'],
  [
    'with the key of a log',
    `https://one.example ${writeVerifierKey(verifier('one'))}`,
    'of the type cosignature/v1',
  ],
  [
    'with a cut key',
    `https://one.example ${keyOf('one').slice(0, -4)}`,
    'of the type cosignature/v1',
  ],
])('an entry %s is rejected with one line that quotes no secret', (_, entry, sentence) => {
  const faults = faultsOf(`${TWO}, ${entry}`)
  expect(faults).toEqual([expect.stringContaining(sentence)])
  expect(faults[0]).toMatch(/^AUDIT_WITNESSES: entry 2 must [^\n]+\.$/)
  expect(faults[0]).not.toContain('secret')
})

test('each faulty entry has a line', () => {
  expect(faultsOf(`http://x ${keyOf('x')}, ${ONE}, y, ${ONE}`)).toEqual([
    expect.stringContaining('entry 1 must begin'),
    expect.stringContaining('entry 3 must be the URL'),
    'AUDIT_WITNESSES: entry 4 has the key of entry 2.',
  ])
})
