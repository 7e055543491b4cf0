/** Sends mails over SMTP. Requires TLS unless the server is on this machine or the URL makes TLS optional. */
import { type Envelope, MailError, type MailTransport, PermanentMailError } from './transport.ts'

/**
 * Timeout for the server's final reply. A client that stops waiting earlier may send the mail twice (RFC 5321,
 * 4.5.3.2.6).
 */
const PATIENCE_MS = 10 * 60_000
const CONNECT_MS = 30_000

/** Reply codes that reject the sign-in or an unencrypted session. The cause is a setting and not the mail. */
const OF_THE_SESSION = new Set([503, 530, 534, 535, 538])

/** Error codes of failed connections. Their message comes from nodemailer or the system, and not from the server. */
const OF_THE_CONNECTION = new Set(['ESOCKET', 'ECONNECTION', 'ETIMEDOUT', 'ETLS', 'EDNS'])

/**
 * Parses an SMTP_URL: `smtps://user:password@host:465` (TLS from the start) or `smtp://user:password@host:587`
 * (STARTTLS). By default, TLS and a valid certificate are required. With `?tls=optional`, the default for `smtp` on the
 * loopback, the mailer uses TLS only if the server offers it. This does not protect against an active attacker, so a
 * password is then allowed only for a server on this machine.
 * @throws Error with a message that starts with "must"
 */
export function parseSmtpUrl(text: string) {
  if (!URL.canParse(text) || !/^smtps?:\/\/[^/]/.test(text))
    throw new Error('must be a URL such as smtp://user:password@host:587 or smtps://host')
  const { protocol, hostname, port, username, password, searchParams } = new URL(text)
  const isImplicit = protocol === 'smtps:'
  const isLocal = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname)
  const tls = searchParams.get('tls') ?? (isLocal && !isImplicit ? 'optional' : 'required')
  if (tls !== 'required' && tls !== 'optional')
    throw new Error('must have tls=required, tls=optional, or no tls parameter')
  const isOptional = tls === 'optional'
  if (isOptional && isImplicit)
    throw new Error('must start with smtp: (not smtps:) when tls=optional is set')
  if (isOptional && username && !isLocal)
    throw new Error(
      'must not contain a password when tls=optional is set, because it could be sent unencrypted',
    )
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

/**
 * Creates the SMTP transport.
 * @param patienceMs how long to wait for the server's replies. Tests use a shorter time.
 */
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

/**
 * Matches enhanced status codes that reject the sender instead of the mail (RFC 3463 §3.8). The operator can fix the
 * cause.
 */
const OF_POLICY = /^\d{3}[ -]5[.]7[.]/

interface SmtpError extends Error {
  code?: string
  /** The SMTP command to which the server replied, such as `RCPT TO` or `DATA`. */
  command?: string
  responseCode?: number
  /** The server's full reply, which may quote the recipient. */
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
      ? `the SMTP server is not reachable (${message})`
      : `SMTP failed (${code}${command ? ` at ${command}` : ''})`
  return isForGood ? new PermanentMailError(said) : new MailError(said, code)
}
