/** Serves static pages, which are read once at startup, and redirects of pages that moved. */

import { readFile } from 'node:fs/promises'
import type { FastifyInstance } from 'fastify'

const TYPES = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  png: 'image/png',
} as const

/** A file of a page: its URL path, its type and its location on disk. */
export interface WebPage {
  url: string
  type: keyof typeof TYPES
  file: URL
}

/** Serves the pages without authentication. Their scripts call operations, which check access. */
export async function addPages(
  app: FastifyInstance,
  pages: readonly WebPage[],
  contentPolicy: string,
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

/** Pages that moved: each path with the URL that replaces it. The URL is relative, because a proxy may add a prefix. */
export type Redirects = Readonly<Record<string, string>>

/** Answers each path with a redirect. Browsers preserve the fragment, which contains the token of a mailed link. */
export function addRedirects(app: FastifyInstance, redirects: Redirects): void {
  for (const [path, target] of Object.entries(redirects))
    app.get(path, { config: { isPage: true } }, (_request, reply) => reply.redirect(target))
}
