/**
 * `/docs`: the OpenAPI document for people, with everything it needs served from here. What it names is relative
 * to `/docs`, as a proxy may put it below a prefix; at `/docs/` it would lead astray, and nothing is served there.
 */
import type { FastifyInstance } from 'fastify'
import { addPages, type Page } from './pages.ts'

/** Everything from here and nothing from elsewhere, also where the service is reached without TLS. */
const CONTENT_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const OWN = new URL('swagger-ui/', import.meta.url)
/** Swagger UI as the Fastify project packs it: the files alone, with nothing to run at the install. */
const PACKED = new URL('static/', import.meta.resolve('@fastify/swagger-ui'))

const packed = (name: string, type: Page['type']): Page => ({
  url: `/docs/static/${name}.${type}`,
  type,
  file: new URL(`${name}.${type}`, PACKED),
})

const PAGES: readonly Page[] = [
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
