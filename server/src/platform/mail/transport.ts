/** Defines the interface for delivering mails, and the two kinds of delivery failure. */

/** A message with its sender and recipient (RFC 5321). */
export interface Envelope {
  /** The id of the mail, which is the same for every attempt. */
  id: string
  /** When the mail was created, in milliseconds since the Unix epoch. */
  time: number
  from: string
  to: string
  subject: string
  /** The plain text of the mail. Used by transports that write files for people. */
  text: string
  /** The complete message in the format of RFC 5322. */
  message: Buffer
}

export interface MailTransport {
  /** True if the transport sends mails to recipients, false if it only writes them to a folder. */
  readonly reachesPeople: boolean
  /** True if a message body may contain bytes above 127. */
  readonly isEightBit: boolean
  /**
   * Delivers a message. Returns the path of the file if the transport writes files.
   * @throws PermanentMailError if no retry can succeed, or another error if a retry may succeed
   */
  deliver(envelope: Envelope): Promise<{ file?: string }>
}

/**
 * Thrown when the server will never accept the message. The error message omits the server's reply, because servers
 * quote the recipient's address, which must not be logged.
 */
export class PermanentMailError extends Error {
  override readonly name = 'PermanentMailError'
}

/** Thrown when the message could not be delivered now, so that the job retries. Also omits the server's reply. */
export class MailError extends Error {
  override readonly name = 'MailError'
  readonly code: string

  constructor(message: string, code: string) {
    super(message)
    this.code = code
  }
}
