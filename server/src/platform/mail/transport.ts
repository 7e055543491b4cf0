/** What carries mails away, and the two ways in which it fails. */

/** A message as it goes over the wire, with whom it is from and for (RFC 5321). */
export interface Envelope {
  /** The same at every attempt. */
  id: string
  /** When it was written, in milliseconds since the Unix epoch. */
  time: number
  from: string
  to: string
  subject: string
  /** The plain text alone, for a transport that people read. */
  text: string
  /** RFC 5322. */
  message: Buffer
}

export interface MailTransport {
  /** Whether mails reach people, and not only a folder. */
  readonly reachesPeople: boolean
  /** True where the body of a message may have bytes above 127. */
  readonly isEightBit: boolean
  /**
   * Hands a message over for good. Returns the file, if that is where it went.
   * @throws PermanentMailError when it will never be taken, anything else when it may be later
   */
  deliver(envelope: Envelope): Promise<{ file?: string }>
}

/**
 * The message will never be taken. Like `MailError` it says nothing of what the other side said:
 * servers quote the address, and a message must not end up in a log.
 */
export class PermanentMailError extends Error {
  override readonly name = 'PermanentMailError'
}

/** The message could not be handed over now. */
export class MailError extends Error {
  override readonly name = 'MailError'
  readonly code: string

  constructor(message: string, code: string) {
    super(message)
    this.code = code
  }
}
