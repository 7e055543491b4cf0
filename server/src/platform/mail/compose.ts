/** Composes a mail as an RFC 5322 message, with plain text and HTML as alternatives. */
import { type MailSender, oneLine } from './addresses.ts'

export interface MessageParts {
  id: string
  time: number
  from: MailSender
  to: string
  subject: string
  text: string
  html: string
  /** True if the body may contain bytes above 127 (RFC 2045, 6.2). */
  isEightBit: boolean
}

/** Maximum length of a line in bytes, without its CRLF (RFC 5322, 2.1.1). */
const MAX_LINE_BYTES = 998

export async function compose(content: MessageParts): Promise<Buffer> {
  // Loads the composer with the first mail, because most processes of a small clinic never send one.
  const { default: MailComposer } = await import('nodemailer/lib/mail-composer')
  const domain = content.from.address.slice(content.from.address.lastIndexOf('@') + 1)
  return new MailComposer({
    from: content.from,
    // Passes the recipient as an object, because nodemailer would parse a string as a list of addresses.
    to: { name: '', address: content.to },
    subject: oneLine(content.subject),
    text: bodyOf('text/plain', content.text, content.isEightBit),
    html: bodyOf('text/html', content.html, content.isEightBit),
    date: new Date(content.time),
    // Derives the id from that of the job. Mail clients then show a mail that was sent twice only once.
    messageId: `<${content.id}@${domain}>`,
    // Prevents out-of-office replies (RFC 3834).
    headers: { 'Auto-Submitted': 'auto-generated' },
    xMailer: false,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
    .compile()
    .build()
}

/**
 * Returns the body of one alternative. Sends the text without encoding if its bytes and line lengths allow that. Links
 * can then be copied from the raw message. Otherwise the composer encodes it as quoted-printable.
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

/** Converts all line breaks to CRLF, the only line break that RFC 5322 allows. */
const withCrlf = (text: string) => text.replaceAll(/\r\n?|\n/g, '\r\n')
