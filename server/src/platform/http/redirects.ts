/** Redirects from one page to another. */
import type { FastifyInstance } from 'fastify'

/**
 * Pages that have moved: the former path of each, and the URL that replaces it. The URL is relative, because a proxy
 * may add a prefix.
 */
export type Redirects = Readonly<Record<string, string>>

/**
 * Answers each path with a redirect. Browsers preserve the URL's fragment, which contains the token of a mailed link.
 */
export function addRedirects(app: FastifyInstance, redirects: Redirects): void {
  for (const [path, target] of Object.entries(redirects))
    app.get(path, { config: { isPage: true } }, (_request, reply) => reply.redirect(target))
}
