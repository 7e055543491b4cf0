/** Tests that pollers look for work repeatedly and miss no wake-up. */
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { gate } from '../../test/sessions/scopes.ts'
import { until } from '../../test/support/until.ts'
import { type Poll, type PollerOptions, poller } from './poller.ts'
import { systemTime } from './time.ts'

/** An interval so long that a poller looks for work only when it is woken. */
const NEVER = Number.POSITIVE_INFINITY

function polling(poll: Poll, options: Partial<PollerOptions> = {}) {
  const made = poller(poll, {
    clock: systemTime,
    pollMs: NEVER,
    onError: () => undefined,
    ...options,
  })
  onTestFinished(() => made.stop())
  return made
}

/** Returns a poller that counts how often it looks for work, after it has looked once. */
async function counting(options: Partial<PollerOptions> = {}) {
  const polls = { count: 0 }
  const made = polling(async () => {
    polls.count += 1
    return false
  }, options)
  await until('the first poll', () => polls.count > 0 || undefined)
  return { poller: made, polls }
}

test('a poller polls when it starts and when it is woken', async () => {
  const { poller: made, polls } = await counting()
  made.wake()
  await until('the second poll', () => polls.count === 2 || undefined)
  made.wake()
  await until('the third poll', () => polls.count === 3 || undefined)
})

test('a poller polls again after the poll interval', async () => {
  const { polls } = await counting({ pollMs: 5 })
  await until('several polls', () => polls.count > 4 || undefined)
})

test('a poller polls again immediately while there is more to do', async () => {
  let left = 5
  polling(async () => {
    left -= 1
    return left > 0
  })
  await until('all is done', () => left === 0 || undefined)
})

test('a poller polls once more if it is woken while polling', async () => {
  const first = gate()
  let polls = 0
  const made = polling(async () => {
    polls += 1
    if (polls === 1) await first.pass
    return false
  })
  await until('the first poll', () => polls === 1 || undefined)
  made.wake()
  first.open()
  await until('the second poll', () => polls === 2 || undefined)
})

test('a poller accepts a wake-up before the first poll', async () => {
  let polls = 0
  const made = polling(async () => {
    polls += 1
    return false
  })
  made.wake()
  await until('a poll', () => polls > 0 || undefined)
})

test('a poller passes the error of a poll and the previous error to `onError`, and continues', async () => {
  let polls = 0
  const told: unknown[][] = []
  const made = polling(
    async () => {
      polls += 1
      if (polls !== 3) throw polls
      return false
    },
    { onError: (error, previous) => void told.push([error, previous]) },
  )
  for (let poll = 1; poll < 5; poll += 1) {
    await until('a poll', () => polls === poll || undefined)
    made.wake()
  }
  await until('the failures are told', () => told.length >= 3 || undefined)
  expect(told.slice(0, 3)).toEqual([
    [1, undefined],
    [2, 1],
    [4, undefined],
  ])
})

test('a poller waits for the current poll when stopped, and starts no other poll', async () => {
  const first = gate()
  const seen: string[] = []
  const made = polling(async () => {
    seen.push('begun')
    await first.pass
    seen.push('ended')
    return true
  })
  await until('the poll', () => seen.length > 0 || undefined)
  const stopped = made.stop().then(() => seen.push('stopped'))
  made.wake()
  first.open()
  await stopped
  expect(seen).toEqual(['begun', 'ended', 'stopped'])
})

test('a poller ends the pause between polls when stopped', async () => {
  const { poller: made, polls } = await counting({ minGapMs: 3_600_000 })
  await made.stop()
  expect(polls.count).toBe(1)
})

describe('a poller, with fake timers,', () => {
  beforeEach(() => {
    vi.useFakeTimers()
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  /** Returns how often the poller has looked for work after `ms` more milliseconds. */
  const after = async (ms: number, polls: unknown[]) => {
    await vi.advanceTimersByTimeAsync(ms)
    return polls.length
  }

  test('pauses for as long as each poll requests', async () => {
    const polls: number[] = []
    const waits = [10, 20, 40]
    const made = poller(async () => waits[polls.push(polls.length) - 1] ?? false, {
      clock: systemTime,
      pollMs: 100,
      onError: () => undefined,
    })
    const counts: number[] = []
    for (const ms of [0, 9, 1, 19, 1, 39, 1, 99, 1]) counts.push(await after(ms, polls))
    expect(counts).toEqual([1, 1, 2, 2, 3, 3, 4, 4, 5])
    await made.stop()
  })

  test('keeps the minimum pause between polls, and loses no wake-up', async () => {
    const polls: number[] = []
    const made = poller(
      async () => {
        polls.push(polls.length)
        return false
      },
      { clock: systemTime, pollMs: NEVER, minGapMs: 5, onError: () => undefined },
    )
    expect(await after(0, polls)).toBe(1)
    made.wake()
    made.wake()
    expect(await after(4, polls)).toBe(1)
    expect(await after(1, polls)).toBe(2)
    expect(await after(1000, polls)).toBe(2)
    made.wake()
    expect(await after(0, polls)).toBe(3)
    await made.stop()
  })

  test('may pause longer after a failed poll, and no wake-up shortens that pause', async () => {
    const polls: number[] = []
    const made = poller(
      async () => {
        polls.push(polls.length)
        throw new Error('not yet')
      },
      { clock: systemTime, pollMs: 1000, minGapMs: 5, failureGapMs: 500, onError: () => undefined },
    )
    expect(await after(0, polls)).toBe(1)
    made.wake()
    expect(await after(499, polls)).toBe(1)
    expect(await after(1, polls)).toBe(2)
    expect(await after(999, polls)).toBe(2)
    expect(await after(1, polls)).toBe(3)
    await made.stop()
  })
})

describe('waiting until a poller is idle', () => {
  test('starts another poll', async () => {
    const { poller: made, polls } = await counting()
    await made.idle()
    expect(polls.count).toBe(2)
  })

  test('starts another poll after the current one', async () => {
    const entered = gate()
    const held = gate()
    let polls = 0
    const made = polling(async () => {
      polls += 1
      entered.open()
      if (polls === 1) await held.pass
      return false
    })
    await entered.pass
    const idle = made.idle()
    held.open()
    await idle
    expect(polls).toBe(2)
  })

  test('resolves only after polls that found more to do have ended', async () => {
    let left = 3
    const made = polling(async () => {
      left -= 1
      return left > 0
    })
    await made.idle()
    expect(left).toBeLessThanOrEqual(0)
  })

  test('resolves after a failed poll, and when the poller stops', async () => {
    const failing = polling(() => Promise.reject(new Error('not now')))
    await failing.idle()
    const { poller: made } = await counting()
    const idle = made.idle()
    await made.stop()
    await idle
    await made.idle()
  })
})
