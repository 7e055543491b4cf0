/** Reads arguments and answers of an operation out of the types that openapi-typescript generates. */

export type Method = 'get' | 'post' | 'put' | 'delete'

/** The paths that know the method; the generated types hold `method?: never` for the others. */
export type PathsWith<Paths, M extends Method> = {
  [Path in keyof Paths]: Paths[Path] extends Record<M, object> ? Path : never
}[keyof Paths] &
  string

type Operation<Item, M extends Method> = Item extends Record<M, infer Found> ? Found : never

type Json<Part> = Part extends { content: infer Content } ? Content[keyof Content] : undefined

type PathPart<Op> = Op extends { parameters: { path: infer Params } }
  ? { params: Params }
  : { params?: never }

type QueryPart<Op> = Op extends { parameters: { query: infer Query } }
  ? { query: Query }
  : Op extends { parameters: { query?: infer Query } }
    ? { query?: Query }
    : { query?: never }

type BodyPart<Op> = Op extends { requestBody?: never }
  ? { body?: never }
  : Op extends { requestBody: infer Body }
    ? { body: Json<Body> }
    : Op extends { requestBody?: infer Body }
      ? { body?: Json<Body> }
      : { body?: never }

type Options<Op> = PathPart<Op> & QueryPart<Op> & BodyPart<Op> & { signal?: AbortSignal }

/** The options may be left out when nothing in them is required. */
export type Arguments<Item, M extends Method> =
  Partial<Options<Operation<Item, M>>> extends Options<Operation<Item, M>>
    ? [options?: Options<Operation<Item, M>>]
    : [options: Options<Operation<Item, M>>]

type Responses<Op> = Op extends { responses: infer Found } ? Found : never

type Success = 200 | 201 | 202 | 204

type Answers<Found, Status> = {
  [S in keyof Found]: S extends Status ? Json<Found[S]> : never
}[keyof Found]

/** `error` tells a failure from a success; a success without content has neither. */
export type Reply<Item, M extends Method> =
  | {
      data: Answers<Responses<Operation<Item, M>>, Success>
      error: undefined
      response: Response
    }
  | {
      data: undefined
      error: Answers<
        Responses<Operation<Item, M>>,
        Exclude<keyof Responses<Operation<Item, M>>, Success>
      >
      response: Response
    }
