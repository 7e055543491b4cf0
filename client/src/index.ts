/**
 * The typed client of Wardkeep's API: one function a method, whose arguments and answers follow from
 * server/openapi.json. It needs nothing but `fetch`.
 */
import type { paths } from './generated/api.ts'
import type { Arguments, Method, PathsWith, Reply } from './types.ts'

export type { components, paths } from './generated/api.ts'
export type { Arguments, Method, PathsWith, Reply } from './types.ts'

export type ClientOptions = {
  baseUrl: string
  /** Asked before every call, so that a renewed token is used at once. */
  token?: () => string | undefined | Promise<string | undefined>
  fetch?: typeof globalThis.fetch
}

type Call<Paths, M extends Method> = <Path extends PathsWith<Paths, M>>(
  path: Path,
  ...options: Arguments<Paths[Path], M>
) => Promise<Reply<Paths[Path], M>>

export type Client<Paths = paths> = {
  GET: Call<Paths, 'get'>
  POST: Call<Paths, 'post'>
  PUT: Call<Paths, 'put'>
  DELETE: Call<Paths, 'delete'>
}

type Parts = { params?: object; query?: object; body?: unknown; signal?: AbortSignal }

export function createClient<Paths = paths>(options: ClientOptions): Client<Paths> {
  const base = options.baseUrl.replace(/\/+$/, '')
  const doFetch = options.fetch ?? globalThis.fetch

  async function send(method: string, path: string, { params, query, body, signal }: Parts = {}) {
    const token = await options.token?.()
    const headers = new Headers({ accept: 'application/json' })
    if (token) headers.set('authorization', `Bearer ${token}`)
    if (body !== undefined) headers.set('content-type', 'application/json')
    const response = await doFetch(base + fill(path, params) + search(query), {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal ? { signal } : {}),
    })
    const content = await read(response)
    if (response.ok) return { data: content, error: undefined, response }
    // A proxy's error may come without a body; the caller tells errors by `error` being there.
    return { data: undefined, error: content ?? { detail: `HTTP ${response.status}` }, response }
  }

  const call = (method: string) => (path: string, parts?: Parts) => send(method, path, parts)
  // The types are the contract's; at run time every path and answer is passed through as it is.
  return {
    GET: call('GET'),
    POST: call('POST'),
    PUT: call('PUT'),
    DELETE: call('DELETE'),
  } as unknown as Client<Paths>
}

/** Puts the parameters into `/users/{user_id}`; one that is missing is the caller's mistake. */
function fill(path: string, params: object = {}): string {
  const values = new Map<string, unknown>(Object.entries(params))
  return path.replace(/\{(\w+)\}/g, (_, name: string) => {
    if (!values.has(name)) throw new TypeError(`The path ${path} needs the parameter ${name}`)
    return encodeURIComponent(String(values.get(name)))
  })
}

function search(query: object = {}): string {
  const pairs = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    for (const one of [value].flat()) {
      if (one !== undefined && one !== null) pairs.append(name, String(one))
    }
  }
  return pairs.size === 0 ? '' : `?${pairs}`
}

async function read(response: Response): Promise<unknown> {
  const text = await response.text()
  if (text === '') return undefined
  return response.headers.get('content-type')?.includes('json') ? JSON.parse(text) : text
}
