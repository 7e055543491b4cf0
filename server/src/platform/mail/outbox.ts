/** Mails as files, for installations without SMTP: one RFC 5322 file each, for the operator's eyes. */
import { chmod, mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { MailTransport } from './transport.ts'

export function outboxTransport(folder: string): MailTransport {
  return {
    reachesPeople: false,
    async deliver({ id, time, message }) {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      await chmod(folder, 0o700)
      // The time of writing, not of this attempt: another attempt replaces the file.
      const name = `${new Date(time).toISOString().replaceAll(/[:.]/g, '-')}-${id}.eml`
      const file = join(folder, name)
      // Written aside and renamed: whoever watches the folder sees whole mails only.
      const draft = join(folder, `.${name}.part`)
      await writeFile(draft, message, { mode: 0o600, flush: true })
      await rename(draft, file)
      return { file }
    },
  }
}
