/** A real SMTP server in the test's process, which accepts mails or fails in the requested ways. */
import PostalMime, { type Email } from 'postal-mime'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { onTestFinished } from 'vitest'

export interface Accepted {
  from: string
  to: string[]
  isSecure: boolean
  raw: string
  mail: Email
}

export interface Refusal {
  at: 'sender' | 'recipient' | 'data'
  code: number
  /** The enhanced status code (RFC 3463), such as `5.7.1`. */
  status?: string
}

/** The outcome of a delivery. Most tests use `accept`. */
export type Fate = 'accept' | 'stall at the greeting' | 'stall at the end' | 'die in DATA' | Refusal

export interface SmtpServer {
  port: number
  /** The mails that were answered with 250. */
  accepted: Accepted[]
  /** Returns how many connections were made. */
  connections(): number
  /** The passwords used to sign in. */
  passwords: string[]
  close(): Promise<void>
}

export interface SmtpOptions {
  /** The outcome of each connection, in order. Later connections are accepted. */
  fates?: Fate[]
  port?: number
  tls?: { key: string; cert: string }
  /** TLS from the first byte, as in smtps. */
  isImplicit?: boolean
}

const refusal = ({ code, status }: Refusal, address: string | null) =>
  // Real servers quote the address in the error, so this server does too.
  Object.assign(new Error(`${status ? `${status} ` : ''}<${address}>: refused`), {
    responseCode: code,
  })

export async function openSmtp(options: SmtpOptions = {}): Promise<SmtpServer> {
  const fates = [...(options.fates ?? [])]
  const byConnection = new Map<string, Fate>()
  const accepted: Accepted[] = []
  const passwords: string[] = []
  const fateOf = ({ id }: { id: string }) => byConnection.get(id) ?? 'accept'
  const refusedAt = (session: { id: string }, at: string) => {
    const fate = fateOf(session)
    return typeof fate === 'object' && fate.at === at ? fate : undefined
  }
  const handlers: SMTPServerOptions = {
    onConnect(session, done) {
      const fate = fates.shift() ?? 'accept'
      byConnection.set(session.id, fate)
      if (fate !== 'stall at the greeting') done()
    },
    onAuth({ password }, _, done) {
      passwords.push(password ?? '')
      done(null, { user: 'someone' })
    },
    onMailFrom({ address }, session, done) {
      const refused = refusedAt(session, 'sender')
      done(refused ? refusal(refused, address) : null)
    },
    onRcptTo({ address }, session, done) {
      const refused = refusedAt(session, 'recipient')
      done(refused ? refusal(refused, address) : null)
    },
    onData(stream, session, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => {
        chunks.push(chunk)
        if (fateOf(session) === 'die in DATA') cut(session.id)
      })
      stream.on('end', async () => {
        const refused = refusedAt(session, 'data')
        if (refused) return done(refusal(refused, 'anna@clinic.test'))
        if (fateOf(session) !== 'accept') return
        const raw = Buffer.concat(chunks).toString('latin1')
        const { mailFrom, rcptTo } = session.envelope
        accepted.push({
          from: mailFrom ? mailFrom.address : '',
          to: rcptTo.map(({ address }) => address),
          isSecure: session.secure,
          raw,
          mail: await PostalMime.parse(raw),
        })
        done()
      })
    },
  }
  const server = new SMTPServer({
    authOptional: true,
    allowInsecureAuth: true,
    closeTimeout: 50,
    disabledCommands: options.tls ? [] : ['STARTTLS'],
    disableReverseLookup: true,
    secure: options.isImplicit ?? false,
    ...options.tls,
    ...handlers,
  })
  function cut(id: string): void {
    for (const connection of server.connections)
      if (connection.session?.id === id) connection._socket.destroy()
  }
  server.on('error', () => undefined)
  await new Promise<void>((resolve) => void server.listen(options.port ?? 0, '127.0.0.1', resolve))
  const { port } = server.server.address() as { port: number }
  let isOpen = true
  const close = async () => {
    if (!isOpen) return
    isOpen = false
    await new Promise<void>((resolve) => void server.close(resolve))
  }
  onTestFinished(close)
  return { port, accepted, passwords, connections: () => byConnection.size, close }
}
