/** Hands mails to an SMTP server, over TLS unless it is on this machine or told otherwise. */
import { type Envelope, MailError, type MailTransport, PermanentMailError } from './transport.ts'

/** RFC 5321, 4.5.3.2.6: who gives up on the last answer sooner sends mails twice. */
const PATIENCE_MS = 10 * 60_000
const CONNECT_MS = 30_000

/** Refusals to sign in or to go on unencrypted: the operator's to mend, and no word on the mail. */
const OF_THE_SESSION = new Set([503, 530, 534, 535, 538])

/** Failures whose message is nodemailer's or the system's own, not the server's. */
const OF_THE_CONNECTION = new Set(['ESOCKET', 'ECONNECTION', 'ETIMEDOUT', 'ETLS', 'EDNS'])

/**
 * The settings in an SMTP_URL: `smtps://user:password@host:465` (TLS from the start) or
 * `smtp://user:password@host:587` (STARTTLS). With `smtp`, TLS and a certificate that holds are
 * required; `?tls=optional`, the default on the loopback, takes what the server offers, which
 * protects against nobody who can touch the wire, so it goes with no password to another machine.
 * @throws Error that says what is wrong
 */
export function parseSmtpUrl(text: string) {
  if (!URL.canParse(text) || !/^smtps?:\/\/[^/]/.test(text))
    throw new Error('must be a URL such as smtp://user:password@host:587 or smtps://host')
  const { protocol, hostname, port, username, password, searchParams } = new URL(text)
  const isImplicit = protocol === 'smtps:'
  const isLocal = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname)
  const tls = searchParams.get('tls') ?? (isLocal && !isImplicit ? 'optional' : 'required')
  if (tls !== 'required' && tls !== 'optional')
    throw new Error('must have tls=required or tls=optional, or neither')
  const isOptional = tls === 'optional'
  if (isOptional && isImplicit) throw new Error('must be smtp, not smtps, for tls=optional')
  if (isOptional && username && !isLocal)
    throw new Error('must not send a password with tls=optional')
  return {
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: Number(port || (isImplicit ? 465 : 587)),
    secure: isImplicit,
    requireTLS: !isImplicit && !isOptional,
    tls: { rejectUnauthorized: !isOptional },
    ...(username
      ? { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }
      : {}),
  }
}

/** @param patienceMs how long the server may be silent, for tests that cannot wait */
export function smtpTransport(url: string, patienceMs: number = PATIENCE_MS): MailTransport {
  const server = parseSmtpUrl(url)
  const open = async () => {
    const { createTransport } = await import('nodemailer')
    return createTransport({
      ...server,
      connectionTimeout: Math.min(CONNECT_MS, patienceMs),
      greetingTimeout: Math.min(CONNECT_MS, patienceMs),
      socketTimeout: patienceMs,
      disableFileAccess: true,
      disableUrlAccess: true,
    })
  }
  let transport: ReturnType<typeof open> | undefined
  return {
    reachesPeople: true,
    isEightBit: false,
    async deliver({ from, to, message }: Envelope) {
      transport ??= open()
      const opened = await transport
      try {
        await opened.sendMail({ envelope: { from, to: [to] }, raw: message })
      } catch (error) {
        throw faultOf(error as SmtpError)
      }
      return {}
    },
  }
}

/** Enhanced status codes of who refuses us, and not the mail (RFC 3463 §3.8): the operator can mend that. */
const OF_POLICY = /^\d{3}[ -]5[.]7[.]/

interface SmtpError extends Error {
  code?: string
  /** What the server answered to: `RCPT TO`, `DATA`, … */
  command?: string
  responseCode?: number
  /** All that it said. */
  response?: string
}

function faultOf(error: SmtpError): Error {
  const { code = 'ESMTP', command, responseCode, response = '', message } = error
  const isForGood =
    responseCode === undefined
      ? code === 'EENVELOPE'
      : (command === 'RCPT TO' || command === 'DATA') &&
        responseCode >= 500 &&
        !OF_THE_SESSION.has(responseCode) &&
        !OF_POLICY.test(response)
  const said = responseCode
    ? `the SMTP server answered ${responseCode} to ${command ?? 'the connection'}`
    : OF_THE_CONNECTION.has(code)
      ? `the SMTP server is out of reach (${message})`
      : `SMTP failed (${code}${command ? ` at ${command}` : ''})`
  return isForGood ? new PermanentMailError(said) : new MailError(said, code)
}
