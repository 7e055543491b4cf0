/** Renders the text of a mail as plain text and as HTML. */

/** The subject and body of a mail, without the recipient. */
export interface MailContent {
  subject: string
  text: string
  html: string
}

export interface MailTemplate {
  subject: string
  greeting: string
  /** The paragraphs of the mail. */
  lines: string[]
  /** The link of the mail with the label of its button, if the mail has a link. */
  link?: { label: string; url: string }
  closing: string
}

export function renderMail({ subject, greeting, lines, link, closing }: MailTemplate): MailContent {
  const linked = link ? [`${link.label}:`, link.url, ''] : []
  const text = [greeting, '', ...lines, '', ...linked, closing, ''].join('\n')
  const paragraphs = [greeting, ...lines].map((line) => `<p>${escapeHtml(line)}</p>`)
  if (link)
    paragraphs.push(
      `<p><a href="${escapeHtml(link.url)}" style="display: inline-block; padding: 0.6rem 1rem; background: #0b5cad; color: #ffffff; text-decoration: none; border-radius: 4px">${escapeHtml(link.label)}</a></p>`,
      `<p style="font-size: 0.9rem">Or open this link:<br>${escapeHtml(link.url)}</p>`,
    )
  const html = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${escapeHtml(subject)}</title></head>
<body style="font-family: sans-serif; line-height: 1.5; color: #1b1b1b; max-width: 36rem; margin: 2rem auto; padding: 0 1rem">
${paragraphs.join('\n')}
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
