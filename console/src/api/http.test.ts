import { afterEach, beforeEach, expect, test, vi } from 'vitest'
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
