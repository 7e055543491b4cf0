/** Redirects from one page to another. */
import type { FastifyInstance } from 'fastify'

/**
 * Pages that moved: each path with the relative address that replaces it. Relative, because a proxy may put the
 * service below a prefix.
 */
export type Redirects = Readonly<Record<string, string>>

/** Answers each path with a redirect. Browsers keep the fragment, such as the token of a mailed link. */
export function addRedirects(app: FastifyInstance, redirects: Redirects): void {
  for (const [path, target] of Object.entries(redirects))
    app.get(path, { config: { isPage: true } }, (_request, reply) => reply.redirect(target))
}
