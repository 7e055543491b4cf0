import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ApiError } from '../../api/problem.ts'
import type { User } from './data.ts'
import { type BulkProgress, oneByOne } from './one-by-one.ts'

const users = [1, 2, 3].map((id) => ({ id }) as User)
const limited = new ApiError({ status: 429, detail: 'Too many requests', retryAfter: 40 })
const refusal = new ApiError({ status: 409, detail: 'No', code: 'own_account' })

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
})

/** Starts the work, and records the sent requests and the reports. */
function start(answer: (id: number) => unknown) {
  const sent: number[] = []
  const reports: BulkProgress[] = []
  const stopping = new AbortController()
  const result = oneByOne({
    users,
    signal: stopping.signal,
    onProgress: (progress) => reports.push(progress),
    request: async (id) => {
      sent.push(id)
      const error = answer(id)
      if (error) throw error
    },
  })
  return { sent, reports, result, stop: () => stopping.abort() }
}

const idsOf = (done: readonly User[]) => done.map(({ id }) => id)

describe('an action on several users', () => {
  it('records users for whom it was refused, and continues with the next user', async () => {
    const work = start((id) => id === 2 && refusal)
    const { done, refused } = await work.result
    expect(idsOf(done)).toEqual([1, 3])
    expect(refused).toEqual([{ user: users[1], error: refusal }])
  })

  it('waits until a rate limit ends, and then repeats the request', async () => {
    const answers = [undefined, limited]
    const work = start(() => answers.splice(0, 1)[0])
    await vi.advanceTimersByTimeAsync(2000)
    expect(work.reports.map(({ waitSeconds }) => waitSeconds)).toEqual([undefined, 40, 39, 38])
    await vi.advanceTimersByTimeAsync(38_000)
    expect(idsOf((await work.result).done)).toEqual([1, 2, 3])
    expect(work.sent).toEqual([1, 2, 2, 3])
  })

  it('stops waiting immediately when it is stopped, and sends no further request', async () => {
    const work = start((id) => id === 2 && limited)
    await vi.advanceTimersByTimeAsync(500)
    work.stop()
    expect(await work.result).toEqual({ done: [users[0]], refused: [] })
    expect(work.sent).toEqual([1, 2])
  })

  it('ends after the current request when it is stopped', async () => {
    const work = start((id) => {
      if (id === 2) work.stop()
    })
    expect(idsOf((await work.result).done)).toEqual([1, 2])
  })
})
