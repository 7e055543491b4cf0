/** Checks the addresses of senders and recipients of mails. */

export interface MailSender {
  name: string
  address: string
}

/**
 * Parses a sender such as `Wardkeep <no-reply@clinic.org>` or a plain address. Returns undefined for any other text.
 */
export function parseSender(text: string): MailSender | undefined {
  const [, name = '', bracketed] = /^(.*?)\s*<([^<>]*)>$/.exec(text.trim()) ?? []
  const address = bracketed ?? text.trim()
  const plainName = name.replace(/^"(.*)"$/, '$1')
  return isMailable(address) && isOneLine(plainName) ? { name: plainName, address } : undefined
}

/** Returns true if the text is a single address that mail software cannot misread, in an envelope or a header. */
export function isMailable(address: string): boolean {
  const at = address.lastIndexOf('@')
  return (
    at > 0 &&
    at < address.length - 1 &&
    address.length <= 254 &&
    !/[\s\p{C}<>(),;:"\\]/u.test(address)
  )
}

/** Removes line breaks and other control characters from text for a header, because they could start a new header. */
export function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim()
}

function isOneLine(text: string): boolean {
  return oneLine(text) === text.trim()
}
