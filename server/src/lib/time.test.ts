/** Tests the timers of the system clock and of the movable test clock. */
import { describe, expect, test } from 'vitest'
import { frozenClock, movableClock } from '../../test/support/time.ts'
import { systemTime, type Time } from './time.ts'

const CLOCKS: [string, () => Time][] = [
  ['the time of the machine', () => systemTime],
  ['a clock that tests move', movableClock],
]

describe.each(CLOCKS)('the clock: %s', (_, open) => {
  test('resolves a delay although nothing moves the clock', async () => {
    await expect(open().delay(1)).resolves.toBeUndefined()
  })

  test('rejects a delay whose signal aborts, before or during the delay', async () => {
    const controller = new AbortController()
    const { signal } = controller
    const during = open().delay(3_600_000, { signal })
    controller.abort(new Error('stopped'))
    const before = open().delay(3_600_000, { signal })
    for (const delay of [during, before])
      await expect(delay).rejects.toMatchObject({
        name: 'AbortError',
        cause: expect.objectContaining({ message: 'stopped' }),
      })
  })

  test('calls `after` once, `every` repeatedly, and cancelled timers never', async () => {
    const time = open()
    const calls: string[] = []
    time.after(1, () => calls.push('cancelled'))()
    await new Promise<void>((resolve) => {
      const cancel = time.every(2, () => {
        calls.push('every')
        if (calls.length < 3) return
        cancel()
        resolve()
      })
    })
    await new Promise<void>((resolve) => void time.after(5, resolve))
    expect(calls).toEqual(['every', 'every', 'every'])
  })
})

describe('the test clock', () => {
  test('fires due timers in order, including timers that those timers start', () => {
    const clock = frozenClock()
    const calls: [string, number][] = []
    const begun = clock.monotonic()
    const note = (what: string) => calls.push([what, clock.monotonic() - begun])
    clock.after(20, () => note('second'))
    clock.after(10, () => {
      note('first')
      clock.after(15, () => note('third'))
    })
    clock.every(12, () => note('every'))
    clock.after(31, () => note('too late'))
    clock.elapse(30)
    expect(calls.map(([what]) => what)).toEqual(['first', 'every', 'second', 'every', 'third'])
    expect(clock.monotonic() - begun).toBeCloseTo(30)
  })

  test('moves the date when time elapses, and fires no timer when only the date moves', () => {
    const clock = frozenClock()
    const date = clock.now()
    let calls = 0
    clock.after(10, () => {
      calls += 1
    })
    clock.advance(60_000)
    expect([clock.now() - date, calls]).toEqual([60_000, 0])
    clock.elapse(10)
    expect([clock.now() - date, calls]).toEqual([60_010, 1])
  })
})
