/**
 * An operation as data: what it takes, what it can answer, who may call it, and what it does.
 * Everything that is common to operations (access, 422, errors, OpenAPI) is derived from it.
 */
import type { Static, TSchema } from 'typebox'
import type { Fault } from '../../lib/problems.ts'
import type { Access, Origin } from '../access/index.ts'

type Infer<S> = S extends TSchema ? Static<S> : undefined

// biome-ignore lint/suspicious/noConfusingVoidType: the handler of a bodiless answer returns nothing
type Answer<S> = S extends TSchema ? Static<S> : void

/** What a handler gets: the caller that the access rule proves, and the validated input. */
export interface Call<C, P, Q, B> {
  caller: C
  origin: Origin
  path: Infer<P>
  query: Infer<Q>
  body: Infer<B>
  /** The request's `Host` header, for sign-in by subdomain. */
  host: string
}

export interface Operation<C, P, Q, B, R> {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** With `{name}` for path parameters, as the specification writes them. */
  path: string
  /** OpenAPI operationId, in camelCase. */
  id: string
  summary: string
  tag: string
  access: Access<C>
  params?: P
  query?: Q
  body?: B
  /** Whether the body may be left out altogether. */
  bodyOptional?: boolean
  /**
   * What is wrong with the body beyond what its schema can say, to be told together with that. Gets
   * the body as it came, whatever it is.
   */
  faultsOf?: (body: unknown) => readonly Fault[]
  /** The success status and its body; null for none. */
  success: readonly [status: number, schema: R]
  /** Refusals beside those that every operation of its kind can answer. */
  refusals?: readonly number[]
  /** Requests a minute and address, for operations that guess at secrets. */
  throttled?: boolean
  /** Whether a session that must enrol a second factor first may call it. */
  whileEnrolling?: boolean
  handle: (call: Call<C, P, Q, B>) => Promise<Answer<R>> | Answer<R>
}

// biome-ignore lint/suspicious/noExplicitAny: the list holds operations of every input and caller
export type AnyOperation = Operation<any, any, any, any, any>

/** Types an operation by its own schemas; answers it as it is. */
export function operation<
  C,
  const P extends TSchema | undefined = undefined,
  const Q extends TSchema | undefined = undefined,
  const B extends TSchema | undefined = undefined,
  const R extends TSchema | null = null,
>(definition: Operation<C, P, Q, B, R>): Operation<C, P, Q, B, R> {
  return definition
}

/** Every status the operation can answer: its own and those common to its kind. */
export function statusesOf(op: AnyOperation): number[] {
  const common = [429, 500, 503]
  if (op.access.roles) common.push(401, 403)
  if (op.params || op.query || op.body) common.push(422)
  if (op.method !== 'GET') common.push(413)
  return [...new Set([op.success[0], ...common, ...(op.refusals ?? [])])].sort((a, b) => a - b)
}
