/** Pollers look for work repeatedly, and lose no wake-up. */
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { gate } from '../../test/sessions/scopes.ts'
import { until } from '../../test/support/until.ts'
import { type Look, type PollerOptions, poller } from './poller.ts'
import { systemTime } from './time.ts'

/** An interval so long that a poller looks only when woken. */
const NEVER = Number.POSITIVE_INFINITY

function polling(look: Look, options: Partial<PollerOptions> = {}) {
  const made = poller(look, {
    clock: systemTime,
    pollMs: NEVER,
    onError: () => undefined,
    ...options,
  })
  onTestFinished(() => made.stop())
  return made
}

/** Returns a poller that counts its looks and has completed the first one. */
async function counting(options: Partial<PollerOptions> = {}) {
  const looks = { count: 0 }
  const made = polling(async () => {
    looks.count += 1
    return false
  }, options)
  await until('the first look', () => looks.count > 0 || undefined)
  return { poller: made, looks }
}

test('a poller polls when it starts and when it is woken', async () => {
  const { poller: made, looks } = await counting()
  made.wake()
  await until('the second look', () => looks.count === 2 || undefined)
  made.wake()
  await until('the third look', () => looks.count === 3 || undefined)
})

test('a poller polls again after the poll interval', async () => {
  const { looks } = await counting({ pollMs: 5 })
  await until('several looks', () => looks.count > 4 || undefined)
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
  let looks = 0
  const made = polling(async () => {
    looks += 1
    if (looks === 1) await first.pass
    return false
  })
  await until('the first look', () => looks === 1 || undefined)
  made.wake()
  first.open()
  await until('the second look', () => looks === 2 || undefined)
})

test('a poller accepts a wake-up before the first poll', async () => {
  let looks = 0
  const made = polling(async () => {
    looks += 1
    return false
  })
  made.wake()
  await until('a look', () => looks > 0 || undefined)
})

test('a poller passes the error of a poll and the previous error to `onError`, and continues', async () => {
  let looks = 0
  const told: unknown[][] = []
  const made = polling(
    async () => {
      looks += 1
      if (looks !== 3) throw looks
      return false
    },
    { onError: (error, previous) => void told.push([error, previous]) },
  )
  for (let look = 1; look < 5; look += 1) {
    await until('a look', () => looks === look || undefined)
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
  await until('the look', () => seen.length > 0 || undefined)
  const stopped = made.stop().then(() => seen.push('stopped'))
  made.wake()
  first.open()
  await stopped
  expect(seen).toEqual(['begun', 'ended', 'stopped'])
})

test('a poller ends the pause between polls when stopped', async () => {
  const { poller: made, looks } = await counting({ minGapMs: 3_600_000 })
  await made.stop()
  expect(looks.count).toBe(1)
})

describe('a poller, with fake timers,', () => {
  beforeEach(() => {
    vi.useFakeTimers()
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  /** Returns the number of looks after `ms` more milliseconds. */
  const after = async (ms: number, looks: unknown[]) => {
    await vi.advanceTimersByTimeAsync(ms)
    return looks.length
  }

  test('pauses for as long as each poll requests', async () => {
    const looks: number[] = []
    const waits = [10, 20, 40]
    const made = poller(async () => waits[looks.push(looks.length) - 1] ?? false, {
      clock: systemTime,
      pollMs: 100,
      onError: () => undefined,
    })
    const counts: number[] = []
    for (const ms of [0, 9, 1, 19, 1, 39, 1, 99, 1]) counts.push(await after(ms, looks))
    expect(counts).toEqual([1, 1, 2, 2, 3, 3, 4, 4, 5])
    await made.stop()
  })

  test('keeps the minimum pause between polls, and loses no wake-up', async () => {
    const looks: number[] = []
    const made = poller(
      async () => {
        looks.push(looks.length)
        return false
      },
      { clock: systemTime, pollMs: NEVER, minGapMs: 5, onError: () => undefined },
    )
    expect(await after(0, looks)).toBe(1)
    made.wake()
    made.wake()
    expect(await after(4, looks)).toBe(1)
    expect(await after(1, looks)).toBe(2)
    expect(await after(1000, looks)).toBe(2)
    made.wake()
    expect(await after(0, looks)).toBe(3)
    await made.stop()
  })

  test('may pause longer after a failed poll, and no wake-up shortens that pause', async () => {
    const looks: number[] = []
    const made = poller(
      async () => {
        looks.push(looks.length)
        throw new Error('not yet')
      },
      { clock: systemTime, pollMs: 1000, minGapMs: 5, failureGapMs: 500, onError: () => undefined },
    )
    expect(await after(0, looks)).toBe(1)
    made.wake()
    expect(await after(499, looks)).toBe(1)
    expect(await after(1, looks)).toBe(2)
    expect(await after(999, looks)).toBe(2)
    expect(await after(1, looks)).toBe(3)
    await made.stop()
  })
})

describe('waiting until a poller is idle', () => {
  test('starts another poll', async () => {
    const { poller: made, looks } = await counting()
    await made.idle()
    expect(looks.count).toBe(2)
  })

  test('starts another poll after the current one', async () => {
    const entered = gate()
    const held = gate()
    let looks = 0
    const made = polling(async () => {
      looks += 1
      entered.open()
      if (looks === 1) await held.pass
      return false
    })
    await entered.pass
    const idle = made.idle()
    held.open()
    await idle
    expect(looks).toBe(2)
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
