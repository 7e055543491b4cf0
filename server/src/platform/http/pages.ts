/** Static pages that are read once at startup. */
import { readFile } from 'node:fs/promises'
import type { FastifyInstance } from 'fastify'

const TYPES = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  png: 'image/png',
} as const

/** A file of a page: the path that serves it, its type and its place on disk. */
export interface Page {
  url: string
  type: keyof typeof TYPES
  file: URL
}

/** Serves the pages to everyone. They call operations for everything they do. */
export async function addPages(
  app: FastifyInstance,
  pages: readonly Page[],
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
