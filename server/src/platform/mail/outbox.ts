/**
 * Writes mails to files, for installations without SMTP. Each mail is written as an RFC 5322 message, and as a text
 * file from which links can be copied.
 */
import { chmod, mkdir } from 'node:fs/promises'
import { writeWhole } from '../files/write-whole.ts'
import { oneLine } from './addresses.ts'
import type { MailTransport } from './transport.ts'

export function outboxTransport(folder: string): MailTransport {
  return {
    reachesPeople: false,
    isEightBit: true,
    async deliver({ id, time, to, subject, text, message }) {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      await chmod(folder, 0o700)
      // The name contains the time when the mail was created, so that a retry replaces the files of an earlier attempt.
      const name = `${new Date(time).toISOString().replaceAll(/[:.]/g, '-')}-${id}`
      const readable = `To: ${oneLine(to)}\nSubject: ${oneLine(subject)}\n\n${text}`
      await writeWhole(folder, `${name}.txt`, readable)
      return { file: await writeWhole(folder, `${name}.eml`, message) }
    },
  }
}
