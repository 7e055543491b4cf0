/** An operation as data, from which access control, 422, errors and OpenAPI are derived. */

import Type, { type Static, type TSchema } from 'typebox'
import type { Counted } from '../../lib/counted.ts'
import type { JsonBytes, JsonText } from '../../lib/json-bytes.ts'
import type { ProblemCode, Refuse } from '../../lib/problems.ts'
import type { Tag } from '../../lib/tags.ts'
import type { OperationAccess, Origin, Restriction } from '../access/index.ts'
import type { Action } from '../journal/index.ts'
import type { Network } from '../net/index.ts'
import type { BrowserSession } from './browser-session.ts'
import type { OwnLimit } from './rate-limit.ts'

type Infer<S> = S extends TSchema ? Static<S> : undefined

// biome-ignore lint/suspicious/noConfusingVoidType: the handler of a bodiless answer returns nothing
type Answer<S> = S extends TSchema ? Static<S> : void

/** The result of a handler: the response body, its JSON if that has already been serialized, or a counted array. */
type Handled<R> = Answer<R> | Counted<Answer<R>> | JsonText<Answer<R>> | JsonBytes<Answer<R>>

/** The argument of a handler: the validated input, and the caller that the access rule admitted. */
export interface Call<C, P, Q, B, K = unknown, H extends string = string> {
  caller: C
  origin: Origin
  path: Infer<P>
  query: Infer<Q>
  body: Infer<B>
  refined: K
  /** The values of the `headers`: empty if the header was not sent, several if it was repeated. */
  headers: Readonly<Record<H, readonly string[]>>
  /** The request's `Host` header, from which sign-in reads the tenant's subdomain. `X-Forwarded-Host` is never read. */
  host: string
  /** Returns the console's session cookie. @throws Error if the operation does not declare `browserSession` */
  browserSession(): BrowserSession
}

/** The input for rules beyond schemas: valid fields only, trimmed and with defaults. */
export interface OperationInput<C, P, Q, B> {
  caller: C
  path: Partial<Infer<P>>
  query: Partial<Infer<Q>>
  body: Partial<Infer<B>>
  /** The paths of fields with an issue, such as `body.tenant_id`, which are omitted although the caller sent them. */
  faulty: ReadonlySet<string>
  host: string
}

/** The validated input from which an operation decides whether a call is final. */
export interface FinalInput<Q, B> {
  query: Infer<Q>
  body: Infer<B>
}

/** An example request body, and example response fields that replace the examples of the response schema. */
interface Example<B, R> {
  body?: Infer<B> extends Buffer ? object : Infer<B>
  answer?: Partial<Answer<R>>
}

export interface Operation<C, P, Q, B, R, K = unknown, H extends string = string> {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** The path. Parameters are written as `{name}`, as in OpenAPI. */
  path: string
  /** True if the last parameter is the rest of the path, which may contain slashes. */
  lastParamHasSlashes?: boolean
  /** The OpenAPI operationId in camelCase. */
  id: string
  /** A short title in the imperative, such as "Get this document". */
  summary: string
  /** Describes the effect, changes and notifications of the operation, in Markdown. */
  description: string
  records?: readonly Action[]
  tag: Tag
  /** An example request and response, with made-up ids and secrets. */
  example?: Example<B, R>
  access: OperationAccess<C>
  /**
   * The networks that may call the operation, or undefined for all. Checked before the body is read. Behind proxies,
   * uses the address that the outermost trusted proxy reports.
   */
  onlyFrom?: () => readonly Network[] | undefined
  params?: P
  query?: Q
  /** Optional request headers that the handler receives, with their descriptions. */
  headers?: Readonly<Record<H, string>>
  body?: B
  /** The maximum body size in bytes, if the default limit (see `body-limit.ts`) does not fit. */
  bodyLimit?: number
  /** True if a request may omit the body. */
  bodyOptional?: boolean
  /**
   * Checks rules beyond schemas, and reports issues with those of the schemas. The handler receives the return value.
   */
  refine?: (given: OperationInput<C, P, Q, B>, refuse: Refuse) => K
  /**
   * Checks rules that need the database. Runs only if a request is rejected with 403, 404, 409 or 422 in any case, to
   * list all issues without a round trip for valid requests. The transaction of the command checks the rules again.
   */
  checkReferences?: (given: OperationInput<C, P, Q, B>, refuse: Refuse) => Promise<void>
  /** True if the operation changes nothing although its method is not GET. The limits for writes then do not apply. */
  isRead?: boolean
  /** True if a GET operation counts towards the limits for writes, because each call adds a permanent entry. */
  countsAsWrite?: boolean
  /** True if the operation revokes access, such as a sign-out. Calls then count per session, and not as writes. */
  endsAccess?: boolean
  /** True if the operation returns a list. A caller can run only a few such operations simultaneously. */
  list?: boolean
  /** The success status and the schema of its body, or null for a response without a body. */
  success: readonly [status: number, schema: R]
  /** True if the operation answers 204 when `handle` returns undefined. */
  mayBeEmpty?: boolean
  /** True if responses carry an entity tag, so that a client that polls receives 304 while nothing has changed. */
  etag?: boolean
  /** True if the handler returns a `Counted` array. The response then has the header `X-Total-Count`. */
  countsTotal?: boolean
  /** True if the operation uses the console's cookie. It then accepts only requests from pages of this service. */
  browserSession?: boolean
  /** True if the operation accepts only requests from pages of this service, without using the cookie. */
  onlyFromOwnPages?: boolean
  /**
   * True if the operation cannot be undone or removes a protection. A browser session then needs a recent password
   * entry. A function decides from the validated input.
   */
  isFinal?: boolean | ((input: FinalInput<Q, B>) => boolean)
  /** Error codes of this operation, in addition to those of every similar operation (see `refusals.ts`). */
  refusals?: readonly ProblemCode[]
  /** True if an operation that reads a raw body may answer 422 because of the content. */
  refusesInput?: boolean
  /** The rate limit per address that applies to this operation instead of the limit for all requests. */
  limit?: OwnLimit
  /** True if the operation remains available in maintenance mode. */
  duringMaintenance?: boolean
  /** The session restrictions under which a caller may still use the operation. */
  whileRestricted?: readonly Restriction[]
  handle: (call: Call<C, P, Q, B, K, H>) => Promise<Handled<R> | undefined> | Handled<R> | undefined
}

// biome-ignore lint/suspicious/noExplicitAny: the list holds operations of every input and caller
export type AnyOperation = Operation<any, any, any, any, any, any, any>

/** Returns the operation unchanged, so that TypeScript infers its types from its schemas. */
export function operation<
  C,
  const P extends TSchema | undefined = undefined,
  const Q extends TSchema | undefined = undefined,
  const B extends TSchema | undefined = undefined,
  const R extends TSchema | null = null,
  K = undefined,
  const H extends string = never,
>(definition: Operation<C, P, Q, B, R, K, H>): Operation<C, P, Q, B, R, K, H> {
  return definition
}

/**
 * The `body` schema of an operation that validates raw bytes itself, such as a signed message, and declares 422 itself.
 * Without a body, the handler receives an empty buffer.
 */
export const RawBody = Type.Unsafe<Buffer>({})

/** Returns true if the operation reads its body as raw bytes. */
export const takesBytes = ({ body }: { body?: TSchema }): boolean => body === RawBody
