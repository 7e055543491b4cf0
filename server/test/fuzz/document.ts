/** Reads the OpenAPI document as a client would: operations, inputs and responses. */
import { readFileSync } from 'node:fs'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { referred } from '../support/openapi.ts'

export type Schema = {
  type?: string | string[]
  format?: string
  enum?: unknown[]
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  pattern?: string
}

export interface Described {
  id: string
  method: string
  path: string
  parameters: { name: string; in: 'path' | 'query'; required: boolean; schema: Schema }[]
  body: Schema | undefined
  responses: Record<string, { content?: { 'application/json': { schema: object } } }>
}

const text = readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8')
const document = JSON.parse(text)

/** Every operation that the document describes. */
export const OPERATIONS: Described[] = Object.entries<Record<string, any>>(document.paths).flatMap(
  ([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      id: operation.operationId,
      method: method.toUpperCase(),
      path,
      parameters: operation.parameters ?? [],
      body: Object.values<{ schema: Schema }>(operation.requestBody?.content ?? {})[0]?.schema,
      responses: Object.fromEntries(
        Object.entries<any>(operation.responses).map(([status, response]) => [
          status,
          referred(document, response),
        ]),
      ),
    })),
)

const ajv = new Ajv2020({ strict: false, allErrors: true })
// ajv-formats is CommonJS; its types do not show that the import is the function itself.
;(addFormats as unknown as (ajv: Ajv2020) => void)(ajv)
ajv.addSchema(document, 'openapi')
const compiled = new Map<string, ValidateFunction>()

/** Returns why a response does not match the document; undefined if it does. */
export function faultOf(
  operation: Described,
  answer: { status: number; body: unknown },
): string | undefined {
  const response = operation.responses[answer.status]
  if (!response) return `status ${answer.status} is not described`
  const [type] = Object.keys(response.content ?? {})
  if (type !== undefined && type !== 'application/json') {
    // A list in JSON lines may be empty, so an empty body is allowed.
    const isFile = typeof answer.body === 'string' || type.startsWith('text/')
    return isFile ? undefined : 'the described file is missing'
  }
  const schema = response.content?.['application/json']?.schema
  if (!schema)
    return answer.body === undefined ? undefined : 'there is a body where none is described'
  const validate = validator(`${operation.id} ${answer.status}`, schema)
  return validate(answer.body) ? undefined : ajv.errorsText(validate.errors)
}

function validator(name: string, schema: object): ValidateFunction {
  const known = compiled.get(name)
  if (known) return known
  const resolved = JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"openapi#/'))
  const validate = ajv.compile(resolved)
  compiled.set(name, validate)
  return validate
}
