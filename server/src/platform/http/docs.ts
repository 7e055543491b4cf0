/**
 * Serves the OpenAPI document as a page at `/docs`, without external resources. Links are relative, because a proxy may
 * add a prefix. They would not work at `/docs/`, which is not served.
 */
import type { FastifyInstance } from 'fastify'
import { addPages, type WebPage } from './pages.ts'

/** Allows only resources of this service, even if a browser reaches the service without TLS. */
const CONTENT_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const OWN = new URL('swagger-ui/', import.meta.url)
/** Swagger UI from the package of the Fastify project, which has only static files and no install scripts. */
const PACKED = new URL('static/', import.meta.resolve('@fastify/swagger-ui'))

const packed = (name: string, type: WebPage['type']): WebPage => ({
  url: `/docs/static/${name}.${type}`,
  type,
  file: new URL(`${name}.${type}`, PACKED),
})

const PAGES: readonly WebPage[] = [
  { url: '/docs', type: 'html', file: new URL('index.html', OWN) },
  { url: '/docs/static/open.js', type: 'js', file: new URL('open.js', OWN) },
  packed('swagger-ui-bundle', 'js'),
  packed('swagger-ui', 'css'),
  packed('index', 'css'),
  packed('favicon-32x32', 'png'),
]

/** Adds the documentation pages: Swagger UI, which reads `/openapi.json`. */
export function addDocs(app: FastifyInstance): Promise<void> {
  return addPages(app, PAGES, CONTENT_POLICY)
}
