/** Which addresses mails may go to and come from. */

export interface Sender {
  name: string
  address: string
}

/** `Wardkeep <no-reply@clinic.org>` or the address alone; undefined when it is neither. */
export function parseSender(text: string): Sender | undefined {
  const [, name = '', bracketed] = /^(.*?)\s*<([^<>]*)>$/.exec(text.trim()) ?? []
  const address = bracketed ?? text.trim()
  const plainName = name.replace(/^"(.*)"$/, '$1')
  return isMailable(address) && isOneLine(plainName) ? { name: plainName, address } : undefined
}

/** Whether it can stand in an envelope and a header as one address, and as nothing else. */
export function isMailable(address: string): boolean {
  const at = address.lastIndexOf('@')
  return (
    at > 0 &&
    at < address.length - 1 &&
    address.length <= 254 &&
    !/[\s\p{C}<>(),;:"\\]/u.test(address)
  )
}

/** Text for a header: no line breaks and no other control characters, which could start a new one. */
export function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim()
}

function isOneLine(text: string): boolean {
  return oneLine(text) === text.trim()
}
