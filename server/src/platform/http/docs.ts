/** `/docs`: the OpenAPI document for people, with everything it needs served from here. */
import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance } from 'fastify'

export const DOCS_PATH = '/docs'

/** Adds the documentation pages for `document`. */
export async function addDocs(app: FastifyInstance, document: object): Promise<void> {
  await app.register(swagger, { mode: 'static', specification: { document: document as never } })
  await app.register(swaggerUi, {
    routePrefix: DOCS_PATH,
    staticCSP: true,
    uiConfig: { docExpansion: 'none', validatorUrl: null as never },
  })
}
