/** Describes the error responses of the operations as shared responses of the OpenAPI document. */
import { isDeepStrictEqual } from 'node:util'
import { PROBLEMS, type ProblemCode } from '../../../lib/problems.ts'
import { InvalidBody, ProblemBody } from '../../../lib/shapes.ts'
import { bodyLimitOf, showBytes } from '../body-limit.ts'
import type { AnyOperation } from '../operation.ts'
import { codesOf } from '../refusals.ts'
import { type Json, publish } from './schemas.ts'

/** Shared responses by name (one per status and set of codes), and one example per code. */
export interface SharedRefusals {
  responses: Json
  examples: Json
}

const MEANING: Record<number, string> = {
  400: 'The request is malformed, or its link or code is invalid',
  401: 'Not authenticated',
  403: 'The caller is not allowed to do this',
  404: 'The record does not exist, or the caller cannot see it',
  409: 'The request conflicts with the current state of a record',
  415: 'The request body has a Content-Encoding',
  416: 'The requested range is outside the file',
  417: '`Expect` has a value other than `100-continue`',
  429: 'Too many requests',
  500: 'Internal error',
  503: 'The database is not reachable, or the service is busy or restoring a backup',
}

/** Headers of a status, in addition to the headers of every response. */
const OF_STATUS: Record<number, Json> = {
  401: { 'WWW-Authenticate': header('WwwAuthenticate') },
  429: { 'Retry-After': header('RetryAfter') },
  503: { 'Retry-After': header('RetryAfter') },
}

/** The headers of every response. */
export const OF_ALL: Json = {
  'X-Request-Id': header('RequestId'),
  RateLimit: header('RateLimit'),
  'RateLimit-Policy': header('RateLimitPolicy'),
}

/** Returns a reference to the shared response of `status`, and adds the response to `shared` if it is new. */
export function refusalOf(
  op: AnyOperation,
  status: number,
  shared: SharedRefusals,
  schemas: Json,
): Json {
  const codes = codesOf(op).filter((code) => PROBLEMS[code][0] === status)
  const limit = status === 413 ? showBytes(bodyLimitOf(op)) : undefined
  const description = limit ? `The request body is larger than ${limit}` : MEANING[status]
  const response = {
    description: description ?? 'The input is invalid',
    headers: { ...OF_ALL, ...OF_STATUS[status] },
    content: { 'application/json': contentOf(codes, shared, schemas) },
  }
  const own = limit
    ? [limit.replace(' ', '-')]
    : codes.filter((code) => op.refusals?.includes(code))
  const name = nameOf([status, ...own].join('.'), response, shared.responses)
  return { $ref: `#/components/responses/${name}` }
}

/** Returns the name of a response in `known`. If another response already has the plain name, appends a number. */
function nameOf(plain: string, response: Json, known: Json): string {
  for (let nth = 1; ; nth++) {
    const name = nth === 1 ? plain : `${plain}-${nth}`
    known[name] ??= response
    if (isDeepStrictEqual(known[name], response)) return name
  }
}

function contentOf(codes: readonly ProblemCode[], shared: SharedRefusals, schemas: Json): Json {
  if (codes.length === 0) return { schema: publish(InvalidBody, schemas), example: INVALID }
  for (const code of codes) shared.examples[code] ??= { value: { detail: PROBLEMS[code][1], code } }
  const problem = publish(ProblemBody, schemas)
  return {
    schema: { allOf: [problem, { properties: { code: { enum: codes } } }] },
    examples: Object.fromEntries(
      codes.map((code) => [code, { $ref: `#/components/examples/${code}` }]),
    ),
  }
}

const INVALID = {
  detail: [{ loc: ['body', 'email'], msg: 'Field required', type: 'missing' }],
}

function header(name: string): Json {
  return { $ref: `#/components/headers/${name}` }
}
