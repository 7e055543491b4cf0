/**
 * The typed client of the API. It adds the access token and renews the token when needed. The client never repeats a
 * request as another user.
 */
import type { components, paths } from '@wardkeep/client/api'
import createClient from 'openapi-fetch'
import { session } from '../session/index.ts'
import type { AccessToken } from '../session/session.ts'
import { send } from './http.ts'
import { PREFIX } from './prefix.ts'
import { ApiError } from './problem.ts'

/** The schemas of the API by name. */
export type Schemas = components['schemas']

/** The operations of the API by path. If the service refuses a request, the call rejects with an `ApiError`. */
export const api = createClient<paths>({
  baseUrl: PREFIX,
  fetch: sendAuthorized,
  headers: { accept: 'application/json' },
  redirect: 'error',
})

/** Returns the body of a successful response. A refused request has already rejected. */
export async function take<Data>(call: Promise<{ data?: Data }>): Promise<Data> {
  const { data } = await call
  return data as Data
}

async function sendAuthorized(request: Request): Promise<Response> {
  // The copy keeps the body, in case the request has to be sent again.
  const copy = request.clone()
  const token = await session.accessToken()
  try {
    return await send(withToken(request, token))
  } catch (error) {
    if (!token || !(error instanceof ApiError) || error.status !== 401) throw error
    if (error.code !== 'invalid_token') throw error
    const renewed = await session.replaceToken(token)
    if (!renewed) throw error
    return send(withToken(copy, renewed))
  }
}

function withToken(request: Request, token: AccessToken | undefined): Request {
  if (token) request.headers.set('authorization', `Bearer ${token.text}`)
  return request
}
