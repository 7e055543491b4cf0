/** Static pages, small, and read once at the start: what links in mails open. */
import { readFile } from 'node:fs/promises'
import type { FastifyInstance } from 'fastify'

const CONTENT_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const TYPES = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  png: 'image/png',
} as const

/** A file of a page: where it is served, what it is, and where it lies. */
export interface Page {
  url: string
  type: keyof typeof TYPES
  file: URL
}

/** Serves the pages to everyone. What they do goes through the operations. */
export async function addPages(
  app: FastifyInstance,
  pages: readonly Page[],
  contentPolicy = CONTENT_POLICY,
): Promise<void> {
  await Promise.all(
    pages.map(async ({ url, type, file }) => {
      const content = await readFile(file)
      app.get(url, { config: { isPage: true } }, (_request, reply) =>
        reply
          .header('content-security-policy', contentPolicy)
          .header('content-type', TYPES[type])
          .send(content),
      )
    }),
  )
}
