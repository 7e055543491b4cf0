/** What the mails about an account say: readable as plain text and as HTML. */

/** A mail's content; the address is added where it is sent. */
export interface Letter {
  subject: string
  text: string
  html: string
}

interface Parts {
  subject: string
  greeting: string
  lines: string[]
  /** The link with the word on its button. */
  link: { label: string; url: string }
  closing: string
}

export function verificationLetter(name: string, clinic: string, url: string): Letter {
  return compose({
    subject: 'Confirm your e-mail address',
    greeting: `Hello ${name},`,
    lines: [`this address was given for an account at ${clinic}. Please confirm that it is yours.`],
    link: { label: 'Confirm the address', url },
    closing:
      'The link is valid for 24 hours. If you have not asked for an account, ignore this mail.',
  })
}

export function resetLetter(name: string, clinic: string, url: string): Letter {
  return compose({
    subject: 'Choose a new password',
    greeting: `Hello ${name},`,
    lines: [`a new password was asked for your account at ${clinic}.`],
    link: { label: 'Choose a password', url },
    closing:
      'The link is valid for one hour and works once. If it was not you who asked, ignore this mail: your password stays as it is.',
  })
}

function compose({ subject, greeting, lines, link, closing }: Parts): Letter {
  const text = [greeting, '', ...lines, '', `${link.label}:`, link.url, '', closing, ''].join('\n')
  const paragraphs = [greeting, ...lines].map((line) => `<p>${escapeHtml(line)}</p>`).join('\n')
  const html = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${escapeHtml(subject)}</title></head>
<body style="font-family: sans-serif; line-height: 1.5; color: #1b1b1b; max-width: 36rem; margin: 2rem auto; padding: 0 1rem">
${paragraphs}
<p><a href="${escapeHtml(link.url)}" style="display: inline-block; padding: 0.6rem 1rem; background: #0b5cad; color: #ffffff; text-decoration: none; border-radius: 4px">${escapeHtml(link.label)}</a></p>
<p style="font-size: 0.9rem">Or open this address:<br>${escapeHtml(link.url)}</p>
<p style="font-size: 0.9rem; color: #555555">${escapeHtml(closing)}</p>
</body>
</html>
`
  return { subject, text, html }
}

const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? character)
}
