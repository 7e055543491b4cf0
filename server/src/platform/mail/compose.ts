/** Writes a mail down as RFC 5322: plain text and HTML beside each other, ASCII on the wire. */
import { oneLine, type Sender } from './addresses.ts'

export interface MessageParts {
  id: string
  time: number
  from: Sender
  to: string
  subject: string
  text: string
  html: string
}

export async function compose(content: MessageParts): Promise<Buffer> {
  // Loaded with the first mail: most processes of a small clinic never send one.
  const { default: MailComposer } = await import('nodemailer/lib/mail-composer')
  const domain = content.from.address.slice(content.from.address.lastIndexOf('@') + 1)
  return new MailComposer({
    from: content.from,
    // As an object it is one address, whatever is in it, and never a list.
    to: { name: '', address: content.to },
    subject: oneLine(content.subject),
    text: withCrlf(content.text),
    html: withCrlf(content.html),
    date: new Date(content.time),
    // Made of the job's id: a mail that went out twice has it twice, and clients show it once.
    messageId: `<${content.id}@${domain}>`,
    // So that no holiday notice answers (RFC 3834).
    headers: { 'Auto-Submitted': 'auto-generated' },
    xMailer: false,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
    .compile()
    .build()
}

/** The only line break of RFC 5322; what is no line break there ends no header and no text. */
const withCrlf = (text: string) => text.replaceAll(/\r\n?|\n/g, '\r\n')
