/** The pages that links in mails open: small, static, and read once at start. */
import { readFile } from 'node:fs/promises'
import type { FastifyInstance } from 'fastify'

const FOLDER = new URL('../../../pages/', import.meta.url)

const CONTENT_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** Where each file is served, and as what. */
const PAGES = [
  ['/verify-email', 'verify-email.html', 'text/html; charset=utf-8'],
  ['/reset-password', 'reset-password.html', 'text/html; charset=utf-8'],
  ['/pages/verify-email.js', 'verify-email.js', 'text/javascript; charset=utf-8'],
  ['/pages/reset-password.js', 'reset-password.js', 'text/javascript; charset=utf-8'],
  ['/pages/send.js', 'send.js', 'text/javascript; charset=utf-8'],
  ['/pages/page.css', 'page.css', 'text/css; charset=utf-8'],
] as const

/** Serves the pages to everyone. What they do goes through the operations. */
export async function addPages(app: FastifyInstance): Promise<void> {
  await Promise.all(
    PAGES.map(async ([url, file, type]) => {
      const content = await readFile(new URL(file, FOLDER))
      app.get(url, { config: { isPage: true } }, (_request, reply) =>
        reply
          .header('content-security-policy', CONTENT_POLICY)
          .header('content-type', type)
          .send(content),
      )
    }),
  )
}
