/** Composes a mail as RFC 5322, with plain text and HTML as alternatives. */
import { oneLine, type Sender } from './addresses.ts'

export interface MessageParts {
  id: string
  time: number
  from: Sender
  to: string
  subject: string
  text: string
  html: string
  /** True where bytes above 127 may stand in the body as they are (RFC 2045, 6.2). */
  isEightBit: boolean
}

/** The longest line of a body in bytes, without its CRLF (RFC 5322, 2.1.1). */
const MAX_LINE_BYTES = 998

export async function compose(content: MessageParts): Promise<Buffer> {
  // Loaded with the first mail: most processes of a small clinic never send one.
  const { default: MailComposer } = await import('nodemailer/lib/mail-composer')
  const domain = content.from.address.slice(content.from.address.lastIndexOf('@') + 1)
  return new MailComposer({
    from: content.from,
    // As an object it is one address, whatever is in it, and never a list.
    to: { name: '', address: content.to },
    subject: oneLine(content.subject),
    text: bodyOf('text/plain', content.text, content.isEightBit),
    html: bodyOf('text/html', content.html, content.isEightBit),
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

/**
 * Returns a body that is written as it is where its bytes and lines allow that, so that a link can be copied
 * out of the raw message. Others are left to the composer, which writes them as quoted-printable.
 */
function bodyOf(type: string, content: string, isEightBit: boolean) {
  const text = withCrlf(content)
  const isAscii = /^[\t\r\n -~]*$/.test(text)
  const fits = text.split('\r\n').every((line) => Buffer.byteLength(line) <= MAX_LINE_BYTES)
  if (!fits || !(isAscii || isEightBit)) return text
  const encoding = isAscii ? '7bit' : '8bit'
  const head = `Content-Type: ${type}; charset=utf-8\r\nContent-Transfer-Encoding: ${encoding}`
  return { raw: Buffer.from(`${head}\r\n\r\n${text}`) }
}

/** The only line break of RFC 5322; what is no line break there ends no header and no text. */
const withCrlf = (text: string) => text.replaceAll(/\r\n?|\n/g, '\r\n')
