/** Tests the rate limit per address, and the response headers that report it. */
import type { FastifyReply } from 'fastify'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Problem } from '../../lib/problems.ts'
import { rateLimit } from './rate-limit.ts'

/** Counts one call. Returns the response headers, and the error if the call was rejected. */
async function take(limit: ReturnType<typeof rateLimit>, key: string) {
  const headers: Record<string, unknown> = {}
  const reply = {
    getHeader: (name: string) => headers[name],
    header(name: string, value: unknown) {
      headers[name] = value
    },
  }
  try {
    await limit.take(key, reply as unknown as FastifyReply)
    return { headers, problem: undefined }
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    return { headers, problem: error }
  }
}

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

describe('a rate limit of three calls a minute', () => {
  test('allows three calls, counts them down and rejects the fourth with a delay', async () => {
    const limit = rateLimit('requests', 3)
    for (const left of [2, 1, 0]) {
      const { headers, problem } = await take(limit, 'a')
      expect(problem).toBeUndefined()
      expect(headers).toEqual({
        'ratelimit-policy': '"requests";q=3;w=60',
        ratelimit: `"requests";r=${left};t=60`,
      })
    }
    vi.advanceTimersByTime(10_000)
    const { headers, problem } = await take(limit, 'a')
    expect(problem).toMatchObject({ status: 429, code: 'too_many_requests', retryAfter: 50 })
    expect(headers.ratelimit).toBe('"requests";r=0;t=50')
  })

  test('counts each address separately', async () => {
    const limit = rateLimit('requests', 1)
    expect((await take(limit, 'a')).problem).toBeUndefined()
    expect((await take(limit, 'b')).problem).toBeUndefined()
    expect((await take(limit, 'a')).problem).toBeDefined()
  })

  test('allows calls again after a minute, even if many calls were rejected in between', async () => {
    const limit = rateLimit('requests', 1)
    for (let calls = 0; calls < 5; calls++) await take(limit, 'a')
    vi.advanceTimersByTime(60_001)
    expect((await take(limit, 'a')).problem).toBeUndefined()
  })
})

test('a rate limit of zero calls counts nothing and adds no headers', async () => {
  const limit = rateLimit('requests', 0)
  for (let calls = 0; calls < 100; calls++)
    expect(await take(limit, 'a')).toEqual({ headers: {}, problem: undefined })
})
