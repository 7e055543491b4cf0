import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { sawRestore } from './availability.ts'
import { send } from './http.ts'

beforeEach(() => {
  vi.useFakeTimers()
  vi.stubGlobal('fetch', (_request: Request, { signal }: { signal: AbortSignal }) => {
    const { promise, reject } = Promise.withResolvers<Response>()
    signal.addEventListener('abort', () => reject(signal.reason))
    return promise
  })
})

afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

test('the HTTP client of the console rejects a request to which the service does not respond in time', async () => {
  const refused = expect(send(new Request('http://console.invalid/'))).rejects.toMatchObject({
    status: 0,
  })
  await vi.advanceTimersByTimeAsync(30_000)
  await refused
})

test('the HTTP client of the console rejects a request that the caller aborts, and reports the abort', async () => {
  const caller = new AbortController()
  const sent = send(new Request('http://console.invalid/', { signal: caller.signal }))
  caller.abort()
  await expect(sent).rejects.toMatchObject({ name: 'AbortError' })
})

test('the HTTP client of the console remembers a refusal because of a restore for ten minutes', async () => {
  const refuse = (code: string) =>
    vi.stubGlobal('fetch', async () => Response.json({ detail: 'Later', code }, { status: 503 }))
  const request = () => expect(send(new Request('http://console.invalid/'))).rejects.toThrow()
  refuse('busy')
  await request()
  expect(sawRestore()).toBe(false)
  refuse('restoring')
  await request()
  expect(sawRestore()).toBe(true)
  await vi.advanceTimersByTimeAsync(10 * 60_000)
  expect(sawRestore()).toBe(false)
})
