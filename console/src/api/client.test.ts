import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { AccessToken } from '../session/session.ts'
import { api } from './client.ts'

const { session } = vi.hoisted(() => ({
  session: {
    accessToken: vi.fn<() => Promise<AccessToken | undefined>>(),
    replaceToken: vi.fn<(refused: AccessToken) => Promise<AccessToken | undefined>>(),
  },
}))
vi.mock('../session/index.ts', () => ({ session }))
vi.mock('./prefix.ts', () => ({ PREFIX: 'http://console.invalid' }))

let sentWith: (string | null)[]

beforeEach(() => {
  sentWith = []
  session.accessToken.mockResolvedValue({ text: 'first', owner: '1:7' })
  vi.stubGlobal('fetch', async (request: Request) => {
    sentWith.push(request.headers.get('authorization'))
    return sentWith.length > 1
      ? Response.json([])
      : Response.json({ detail: 'Expired', code: 'invalid_token' }, { status: 401 })
  })
})

afterEach(() => vi.unstubAllGlobals())

test('the API client of the console repeats a refused request with the renewed token', async () => {
  session.replaceToken.mockResolvedValue({ text: 'second', owner: '1:7' })
  await api.GET('/api/auth/sessions')
  expect(sentWith).toEqual(['Bearer first', 'Bearer second'])
})

test('the API client of the console rejects requests of a user who has signed out', async () => {
  session.replaceToken.mockResolvedValue(undefined)
  await expect(api.GET('/api/auth/sessions')).rejects.toMatchObject({ status: 401 })
  expect(sentWith).toEqual(['Bearer first'])
})
