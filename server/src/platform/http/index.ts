/** What the features and the composition root use of the HTTP layer. */
export { addDocs } from './docs.ts'
export { openApiDocument, openapiOperation } from './openapi.ts'
export { type AnyOperation, operation } from './operation.ts'
export { addPages } from './pages.ts'
export { openLimits } from './rate-limit.ts'
export { addOperations, type Gate } from './routes.ts'
export { openServer } from './server.ts'
export { stopServing } from './stop.ts'
