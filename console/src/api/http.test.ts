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

test('gives up on a service that does not respond in time', async () => {
  const refused = expect(send(new Request('http://console.invalid/'))).rejects.toMatchObject({
    status: 0,
  })
  await vi.advanceTimersByTimeAsync(30_000)
  await refused
})

test('reports that the caller has aborted the request', async () => {
  const caller = new AbortController()
  const sent = send(new Request('http://console.invalid/', { signal: caller.signal }))
  caller.abort()
  await expect(sent).rejects.toMatchObject({ name: 'AbortError' })
})
