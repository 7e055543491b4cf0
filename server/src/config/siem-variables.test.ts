/** Tests the variables of the SIEM export: receivers, files, and one sentence for each fault. */
import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { makeCertificate } from '../../test/support/certificate.ts'
import { StartupError } from '../lib/startup-error.ts'
import { readConfig } from './config.ts'

const folder = mkdtempSync(join(tmpdir(), 'wardkeep-siem-'))
afterAll(() => rmSync(folder, { recursive: true }))

function file(name: string, content: string): string {
  const path = join(folder, name)
  writeFileSync(path, content)
  return path
}

const { cert, key } = makeCertificate()
const CERT = file('cert.pem', cert)
const KEY = file('key.pem', key)
const OTHER_KEY = file('other.pem', makeCertificate().key)
const SEALED_KEY = file(
  'sealed.pem',
  generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' },
  }).privateKey,
)
const TEXT = file('text', 'not a certificate')
const MISSING = join(folder, 'missing.pem')
const URL_TLS = 'syslog+tls://siem.example'

function faultsOf(env: NodeJS.ProcessEnv): readonly string[] {
  try {
    readConfig(env)
  } catch (error) {
    if (error instanceof StartupError) return error.lines
    throw error
  }
  return []
}

describe('SIEM_URL', () => {
  test.each([
    ['syslog+tls://siem.example', { transport: 'syslog+tls', host: 'siem.example', port: 6514 }],
    [
      'syslog+tls://SIEM.example:443/',
      { transport: 'syslog+tls', host: 'siem.example', port: 443 },
    ],
    ['syslog+tcp://[::1]:514', { transport: 'syslog+tcp', host: '[::1]', port: 514 }],
  ])('accepts %s', (text, receiver) => {
    expect(readConfig({ SIEM_URL: text }).SIEM_URL).toEqual(receiver)
  })

  test('accepts an https URL with a path and a query', () => {
    expect(readConfig({ SIEM_URL: 'https://siem.example/in?index=a' }).SIEM_URL).toMatchObject({
      transport: 'https',
      url: new URL('https://siem.example/in?index=a'),
    })
  })

  test.each([
    'http://siem.example/in',
    'syslog://siem.example:514',
    'syslog+udp://siem.example:514',
    'syslog+tls:siem.example',
    'siem.example:6514',
    'syslog+tls://siem.example/path',
    'syslog+tls://siem.example:99999',
    'syslog+tls://a b:6514',
    'syslog+tcp://siem.example',
    'https://user:secret@siem.example/in',
    'https://siem.example/in#part',
    'not a URL',
  ])('rejects %s with one line that quotes no secret', (text) => {
    const faults = faultsOf({ SIEM_URL: text })
    expect(faults).toEqual([expect.stringMatching(/^SIEM_URL: must [^\n]+\.$/)])
    expect(faults[0]).not.toContain('secret')
  })
})

test('the files and the other settings of an export are read', () => {
  const config = readConfig({
    SIEM_URL: URL_TLS,
    SIEM_FORMAT: 'cef',
    SIEM_SINCE: '2026-11-01',
    SIEM_CA_FILE: CERT,
    SIEM_CLIENT_CERT_FILE: CERT,
    SIEM_CLIENT_KEY_FILE: KEY,
  })
  expect(config).toMatchObject({
    SIEM_FORMAT: 'cef',
    SIEM_SINCE: new Date('2026-11-01T00:00:00Z'),
    SIEM_CA_FILE: cert,
    SIEM_CLIENT_CERT_FILE: cert,
    SIEM_CLIENT_KEY_FILE: key,
  })
})

test.each<[string, NodeJS.ProcessEnv, RegExp]>([
  ['an unknown format', { SIEM_FORMAT: 'leef' }, /^SIEM_FORMAT: must be/],
  ['an impossible date', { SIEM_SINCE: '2026-13-01' }, /^SIEM_SINCE: must be now, start/],
  ['a date in words', { SIEM_SINCE: 'yesterday' }, /^SIEM_SINCE: must be now, start/],
  ['a missing CA', { SIEM_CA_FILE: MISSING }, /^SIEM_CA_FILE: the file cannot be read \(ENOENT\)/],
  ['a folder as CA', { SIEM_CA_FILE: folder }, /^SIEM_CA_FILE: the file cannot be read \(EISDIR\)/],
  [
    'a CA of other content',
    { SIEM_CA_FILE: TEXT },
    /^SIEM_CA_FILE: must be a file with certificates/,
  ],
  [
    'a key without certificate',
    { SIEM_CLIENT_KEY_FILE: KEY },
    /^SIEM_CLIENT_CERT_FILE: is required with/,
  ],
  [
    'a certificate without key',
    { SIEM_CLIENT_CERT_FILE: CERT },
    /^SIEM_CLIENT_KEY_FILE: is required with/,
  ],
  [
    'the key of another certificate',
    { SIEM_CLIENT_CERT_FILE: CERT, SIEM_CLIENT_KEY_FILE: OTHER_KEY },
    /^SIEM_CLIENT_KEY_FILE: does not belong to the certificate/,
  ],
  [
    'an encrypted key',
    { SIEM_CLIENT_CERT_FILE: CERT, SIEM_CLIENT_KEY_FILE: SEALED_KEY },
    /^SIEM_CLIENT_KEY_FILE: must be a file with an unencrypted private key/,
  ],
  [
    'a certificate of other content',
    { SIEM_CLIENT_CERT_FILE: TEXT, SIEM_CLIENT_KEY_FILE: KEY },
    /^SIEM_CLIENT_CERT_FILE: must be a file with a certificate/,
  ],
  ['a token for syslog', { SIEM_TOKEN: 'abc' }, /^SIEM_TOKEN: requires a SIEM_URL with https/],
  [
    'a token with a line break',
    { SIEM_URL: 'https://siem.example', SIEM_TOKEN: 'a\nb' },
    /^SIEM_TOKEN: must be printable ASCII/,
  ],
  [
    'a CA for plain text',
    { SIEM_URL: 'syslog+tcp://siem.example:514', SIEM_CA_FILE: CERT },
    /^SIEM_CA_FILE: requires a SIEM_URL with syslog\+tls or https/,
  ],
  [
    'a format without a receiver',
    { SIEM_URL: '', SIEM_FORMAT: 'cef' },
    /^SIEM_FORMAT: requires SIEM_URL/,
  ],
  [
    'a beginning without a receiver',
    { SIEM_URL: '', SIEM_SINCE: 'start' },
    /^SIEM_SINCE: requires SIEM_URL/,
  ],
])('the configuration rejects %s with one line', (_, env, line) => {
  const faults = faultsOf({ SIEM_URL: URL_TLS, ...env })
  expect(faults).toEqual([expect.stringMatching(line)])
  expect(faults[0]).toMatch(/^[^\n]+\.$/)
})
