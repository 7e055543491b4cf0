import { isIP } from 'node:net'
import { parseSender } from '../platform/mail/addresses.ts'
import { parseSmtpUrl } from '../platform/mail/smtp.ts'
import { variable } from './variable.ts'

export const MAIL_VARIABLES = {
  SMTP_URL: variable({
    meaning:
      'Mail server, as `smtp://user:password@host:587` (STARTTLS) or `smtps://…`. `?tls=optional` allows unencrypted connections.',
    default: 'none; mails are written to `outbox` in DATA_DIR',
    read: (text) => {
      if (text !== undefined) parseSmtpUrl(text)
      return text
    },
  }),
  MAIL_FROM: variable({
    meaning: 'Sender of the mails, as `Name <address>`',
    default: '`Wardkeep <no-reply@…>` with the host of PUBLIC_URL, or localhost',
    read: (text, env) => {
      if (text === undefined) return `Wardkeep <no-reply@${mailHost(env.PUBLIC_URL)}>`
      if (!parseSender(text)) throw new Error('must be an address or `Name <address>`')
      return text
    },
  }),
}

/** Returns the host of the URL as the sender's domain, or `localhost` if the host is missing or an IP address. */
function mailHost(publicUrl: string | undefined): string {
  const host = publicUrl && URL.canParse(publicUrl) ? new URL(publicUrl).hostname : ''
  return host === '' || isIP(host.replace(/^\[(.*)\]$/, '$1')) ? 'localhost' : host
}
