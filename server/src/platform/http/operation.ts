/**
 * An operation as data: what it takes, what it can answer, who may call it, and what it does.
 * Everything that is common to operations (access, 422, errors, OpenAPI) is derived from it.
 */
import type { Static, TSchema } from 'typebox'
import type { JsonBytes } from '../../lib/json-bytes.ts'
import type { JsonText } from '../../lib/json-text.ts'
import type { ProblemCode, Refuse } from '../../lib/problems.ts'
import type { Tag } from '../../lib/tags.ts'
import type { Access, Origin, Restriction } from '../access/index.ts'
import type { Action } from '../journal/index.ts'
import type { Network } from '../net/index.ts'
import type { BrowserSession } from './browser-session.ts'
import type { OwnLimit } from './rate-limit.ts'

type Infer<S> = S extends TSchema ? Static<S> : undefined

// biome-ignore lint/suspicious/noConfusingVoidType: the handler of a bodiless answer returns nothing
type Answer<S> = S extends TSchema ? Static<S> : void

/** What a handler returns: the answer, or its JSON where it is at hand. */
type Handled<R> = Answer<R> | JsonText<Answer<R>> | JsonBytes<Answer<R>>

/** What a handler gets: the caller that the access rule proves, and the validated input. */
export interface Call<C, P, Q, B, K = unknown, H extends string = string> {
  caller: C
  origin: Origin
  path: Infer<P>
  query: Infer<Q>
  body: Infer<B>
  /** What the operation's `refine` has returned. */
  refined: K
  /** What came of the operation's `headers`: none where one was not sent, several where one came twice. */
  headers: Readonly<Record<H, readonly string[]>>
  /** The request's `Host` header, for sign-in by subdomain; `X-Forwarded-Host` is never read. */
  host: string
  /** The cookie of the console. @throws Error unless the operation declares `browserSession` */
  browserSession(): BrowserSession
}

/**
 * What rules beyond the schemas see: the fields that the schemas found right, trimmed and with their
 * defaults. A field with an issue is not there, as nothing more is to be said of it.
 */
export interface Given<C, P, Q, B> {
  caller: C
  path: Partial<Infer<P>>
  query: Partial<Infer<Q>>
  body: Partial<Infer<B>>
  /** The fields with an issue, such as `body.tenant_id`: not there is not the same as left out. */
  faulty: ReadonlySet<string>
  host: string
}

/** An example of a request body, and the fields of the answer that differ from those of its schema. */
interface Example<B, R> {
  body?: Infer<B> extends Buffer ? object : Infer<B>
  answer?: Partial<Answer<R>>
}

export interface Operation<C, P, Q, B, R, K = unknown, H extends string = string> {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** With `{name}` for path parameters, as the specification writes them. */
  path: string
  /** OpenAPI operationId, in camelCase. */
  id: string
  /** What it does, as a short title in the imperative. */
  summary: string
  /** What it does, what it changes and whom it notifies, in Markdown. */
  description: string
  /** The actions that it can record in the journal. */
  records?: readonly Action[]
  tag: Tag
  /** An example of the call, in place of the ids and secrets of a real one. */
  example?: Example<B, R>
  access: Access<C>
  /**
   * The networks that it may be called from, asked before a byte of the body is read; undefined for all.
   * Behind proxies it is the address that the outermost trusted one saw.
   */
  onlyFrom?: () => readonly Network[] | undefined
  params?: P
  query?: Q
  /** Request headers that the handler gets, each with what it is for. They may be left out. */
  headers?: Readonly<Record<H, string>>
  body?: B
  /** The bytes of the largest body, where its kind's limit does not suit (see `body-limit.ts`). */
  bodyLimit?: number
  /** Whether the body may be left out altogether. */
  bodyOptional?: boolean
  /**
   * The rules that no schema can say, such as those across fields. Their issues are told together with
   * those of the schemas. What it returns is for the handler, so that a value is parsed once.
   */
  refine?: (given: Given<C, P, Q, B>, refuse: Refuse) => K
  /**
   * The rules that need the database, such as for the id of a department. They are asked only where the
   * request is refused in any case, with 403, 404, 409 or 422: so that every issue is told at once and
   * before what is wrong with the record, and a good request pays no round trip. What is true in the end
   * is decided by the transaction of the command, which checks for itself.
   */
  checkReferences?: (given: Given<C, P, Q, B>, refuse: Refuse) => Promise<void>
  /** Whether it changes nothing though it is no GET: it then counts towards no limit of those who write. */
  isRead?: boolean
  /** Whether it counts towards the limits of those who write though it is a GET, because each call is an entry for good. */
  countsAsWrite?: boolean
  /** Whether it ends somebody's access: it then counts by session, not towards the changes of user and tenant. */
  endsAccess?: boolean
  /** Whether it reads a list: of these a caller has few under way at once. */
  list?: boolean
  /** The success status and its body; null for none. */
  success: readonly [status: number, schema: R]
  /** Whether it also answers 204, where `handle` returns undefined. */
  mayBeEmpty?: boolean
  /** Whether it uses the cookie of the console. It then takes requests of this service's own pages only. */
  browserSession?: boolean
  /** Refusals beside those that every operation of its kind can answer (`refusals.ts`). */
  refusals?: readonly ProblemCode[]
  /** Whether an operation that takes the bytes of its body answers 422 for them. */
  refusesInput?: boolean
  /** What bounds how often one address calls it, in place of the limit of all requests. */
  limit?: OwnLimit
  /** Whether it is answered also while a restore has closed the service. */
  whileClosed?: boolean
  /** The restrictions under which a session may call it all the same. */
  whileRestricted?: readonly Restriction[]
  handle: (call: Call<C, P, Q, B, K, H>) => Promise<Handled<R> | undefined> | Handled<R> | undefined
}

// biome-ignore lint/suspicious/noExplicitAny: the list holds operations of every input and caller
export type AnyOperation = Operation<any, any, any, any, any, any, any>

/** Types an operation by its own schemas; returns it as it is. */
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
