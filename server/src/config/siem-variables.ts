import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { allOrNone, oneOf, variable } from './variable.ts'

export const SIEM_VARIABLES = {
  SIEM_URL: variable({
    meaning:
      'Receiver of the audit log: `syslog+tls://host:6514`, `syslog+tcp://host:port` (not encrypted) or `https://host/path`',
    default: 'none; the audit log is not exported',
    read: (text) => (text === undefined ? undefined : receiverOf(text)),
  }),
  SIEM_FORMAT: variable({
    meaning: 'Format of the entries: `ocsf` (OCSF 1.8.0) or `cef`',
    default: 'ocsf',
    read: (text, env) => needsReceiver(text, env, oneOf('ocsf', ['ocsf', 'cef'])(text)),
  }),
  SIEM_SINCE: variable({
    meaning:
      'Where the first export begins: `now`, `start` (the oldest entry), or a date such as `2026-11-01`. Later exports continue where the last one stopped.',
    default: 'now',
    read: (text = 'now', env) => needsReceiver(env.SIEM_SINCE, env, sinceOf(text)),
  }),
  SIEM_CA_FILE: variable({
    meaning: 'File with the only certificate authorities to trust, in PEM',
    default: 'none; the authorities of Node.js are trusted',
    read: (text, env) => {
      if (text === undefined) return undefined
      requireTls(env)
      const pem = contentOf(text)
      try {
        if (!pem.includes('-----BEGIN CERTIFICATE-----')) throw new Error('no certificate')
        createSecureContext({ ca: pem })
        return pem
      } catch {
        throw new Error('must be a file with certificates in PEM')
      }
    },
  }),
  SIEM_CLIENT_CERT_FILE: variable({
    meaning: 'File with the certificate that authenticates Wardkeep to the receiver, in PEM',
    default: 'none',
    read: clientFile('SIEM_CLIENT_CERT_FILE', (pem) => void certificateOf(pem)),
  }),
  SIEM_CLIENT_KEY_FILE: variable({
    meaning: 'File with the private key of SIEM_CLIENT_CERT_FILE, in PEM and not encrypted',
    default: 'none',
    read: clientFile('SIEM_CLIENT_KEY_FILE', requireKeyOf),
  }),
  SIEM_TOKEN: variable({
    meaning:
      'Token for an `https` receiver, sent as `Authorization: Bearer`. A value with a scheme, such as `Splunk 9f…`, is sent unchanged.',
    default: 'none',
    read: (text, env) => {
      if (text === undefined) return undefined
      if (!/^https:/i.test(env.SIEM_URL ?? '')) throw new Error('requires a SIEM_URL with https')
      if (!/^[\x21-\x7e]+( [\x21-\x7e]+)?$/.test(text))
        throw new Error('must be printable ASCII, with at most one blank')
      return text
    },
  }),
}

/** A receiver. The transports `syslog+tls` and `https` use TLS, and `syslog+tcp` is not encrypted. */
export type SiemReceiver =
  | { transport: 'syslog+tls' | 'syslog+tcp'; host: string; port: number }
  | { transport: 'https'; url: URL }

const FORMS = 'must be syslog+tls://host:6514, syslog+tcp://host:port or https://host/path'
const DEFAULT_TLS_PORT = 6514

/** @throws Error that contains no secret */
function receiverOf(text: string): SiemReceiver {
  const url = URL.parse(text)
  const [, transport] = /^(syslog\+tls|syslog\+tcp|https):\/\//i.exec(text) ?? []
  if (!url || !transport || url.hostname === '') throw new Error(FORMS)
  if (url.username !== '' || url.password !== '')
    throw new Error('must not contain a user or a password. Use SIEM_TOKEN or a client certificate')
  if (url.hash !== '') throw new Error('must not contain a fragment')
  if (url.protocol === 'https:') return { transport: 'https', url }
  if (!/^\/?$/.test(url.pathname) || url.search !== '') throw new Error(FORMS)
  // Hosts of other schemes are not normalized, so this also checks their spelling.
  const host = URL.parse(`https://${url.host}`)?.hostname
  if (!host) throw new Error(FORMS)
  if (url.protocol === 'syslog+tls:')
    return { transport: 'syslog+tls', host, port: Number(url.port || DEFAULT_TLS_PORT) }
  if (url.port === '') throw new Error('must name the port of the syslog+tcp receiver')
  return { transport: 'syslog+tcp', host, port: Number(url.port) }
}

/** Rejects a setting without a receiver, which would have no effect. */
function needsReceiver<T>(text: string | undefined, env: NodeJS.ProcessEnv, value: T): T {
  if (text && !env.SIEM_URL) throw new Error('requires SIEM_URL')
  return value
}

function requireTls(env: NodeJS.ProcessEnv): void {
  if (!env.SIEM_URL) throw new Error('requires SIEM_URL')
  if (/^syslog\+tcp:/i.test(env.SIEM_URL))
    throw new Error('requires a SIEM_URL with syslog+tls or https')
}

function sinceOf(text: string): 'now' | 'start' | Date {
  if (text === 'now' || text === 'start') return text
  const isDate = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2}))?$/
  const time = new Date(text)
  if (!isDate.test(text) || Number.isNaN(time.getTime()))
    throw new Error('must be now, start, or a date such as 2026-11-01 or 2026-11-01T08:00:00Z')
  return time
}

function contentOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new Error(`the file cannot be read (${(error as NodeJS.ErrnoException).code})`)
  }
}

/** Reads a file of the client certificate. @param check throws an Error that says what is wrong with the content */
function clientFile(name: string, check: (pem: string, env: NodeJS.ProcessEnv) => void) {
  const read = allOrNone(['SIEM_CLIENT_CERT_FILE', 'SIEM_CLIENT_KEY_FILE'])(name, contentOf)
  return (text: string | undefined, env: NodeJS.ProcessEnv): string | undefined => {
    const pem = read(text, env)
    if (pem === undefined) return undefined
    requireTls(env)
    check(pem, env)
    return pem
  }
}

function certificateOf(pem: string): X509Certificate {
  try {
    return new X509Certificate(pem)
  } catch {
    throw new Error('must be a file with a certificate in PEM')
  }
}

function requireKeyOf(pem: string, { SIEM_CLIENT_CERT_FILE: path = '' }: NodeJS.ProcessEnv): void {
  const key = privateKeyOf(pem)
  let certificate: X509Certificate
  try {
    certificate = new X509Certificate(readFileSync(path))
  } catch {
    // The fault of the certificate's own variable says what is wrong with it.
    return
  }
  if (!certificate.checkPrivateKey(key))
    throw new Error('does not belong to the certificate in SIEM_CLIENT_CERT_FILE')
}

function privateKeyOf(pem: string) {
  try {
    return createPrivateKey(pem)
  } catch {
    throw new Error('must be a file with an unencrypted private key in PEM')
  }
}
