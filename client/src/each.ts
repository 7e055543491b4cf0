/** Iterates over a list page by page. Follows the `next` cursor of each page, so that every record is returned once. */
import type { Client as FetchClient } from 'openapi-fetch'
import type { paths } from './generated/api.ts'

/** A page of a list, as every list operation returns it. */
interface Page {
  items: unknown[]
  next: string | null
}

type PageOf<Path extends keyof paths> = paths[Path] extends {
  get: { responses: { 200: { content: { 'application/json': infer Body extends Page } } } }
}
  ? Body
  : never

/** The paths that return a list with pages. */
export type ListPath = {
  [Path in keyof paths]: [PageOf<Path>] extends [never] ? never : Path
}[keyof paths]

/** A record of the list at `Path`. */
export type ItemOf<Path extends ListPath> = PageOf<Path>['items'][number]

type ParametersOf<Path extends ListPath> = paths[Path]['get']['parameters']

/** The parameters of a list, except those that select a page. */
export interface ListInit<Path extends ListPath> {
  params: {
    query?: Omit<NonNullable<ParametersOf<Path>['query']>, 'page' | 'after'>
  } & ([NonNullable<ParametersOf<Path>['path']>] extends [never]
    ? { path?: never }
    : { path: ParametersOf<Path>['path'] })
  signal?: AbortSignal
}

/** `params` may be absent if the path has no parameters. */
export type ListArguments<Path extends ListPath> = [
  NonNullable<ParametersOf<Path>['path']>,
] extends [never]
  ? [init?: Partial<ListInit<Path>>]
  : [init: ListInit<Path>]

/** The error that `each` throws when the service refuses a page. */
export class ListError extends Error {
  override readonly name = 'ListError'
  /** The HTTP status of the refusal. */
  readonly status: number
  /** The body of the refusal: `detail`, and `code` if there is one. */
  readonly body: unknown

  constructor(path: string, status: number, body: unknown) {
    super(`GET ${path} was answered with status ${status}`)
    this.status = status
    this.body = body
  }
}

/**
 * Yields the records of a list. Fetches a page when all records of the previous one have been read. Pages hold 100
 * records by default (`limit`).
 * @throws ListError when the service refuses a page
 */
export async function* each<Path extends ListPath>(
  api: FetchClient<paths>,
  path: Path,
  ...[init]: ListArguments<Path>
): AsyncGenerator<ItemOf<Path>, void, undefined> {
  const get = api.GET as unknown as (
    path: string,
    init: object,
  ) => Promise<{ data?: PageOf<Path>; error?: unknown; response: Response }>
  const { params, ...rest }: Partial<ListInit<Path>> = init ?? {}
  let after: string | null = null
  do {
    const query = { limit: 100, ...params?.query, ...(after === null ? {} : { after }) }
    const { data, error, response } = await get(path, { ...rest, params: { ...params, query } })
    if (!data) throw new ListError(path, response.status, error)
    yield* data.items as ItemOf<Path>[]
    after = data.next
  } while (after !== null)
}
