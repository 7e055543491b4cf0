/** `/docs`: the OpenAPI document for people, with everything it needs served from here. */
import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance } from 'fastify'

export const DOCS_PATH = '/docs'

/** Everything from here and nothing from elsewhere, also where the service is reached without TLS. */
const CONTENT_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** Adds the documentation pages for `document`. */
export async function addDocs(app: FastifyInstance, document: object): Promise<void> {
  await app.register(swagger, { mode: 'static', specification: { document: document as never } })
  await app.register(swaggerUi, {
    routePrefix: DOCS_PATH,
    staticCSP: CONTENT_POLICY,
    theme: { title: 'Wardkeep: operations' },
    uiConfig: { docExpansion: 'none', layout: 'BaseLayout', validatorUrl: null as never },
  })
}
