/** Tests the order in which waiting work runs, and when further work is rejected. */
import { setImmediate as settled } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { gate } from '../../../test/sessions/scopes.ts'
import { frozenClock } from '../../../test/support/time.ts'
import { systemTime } from '../../lib/time.ts'
import { fairTurns, type TurnLimits } from './fair-turns.ts'

const LIMITS = {
  atOnce: 1,
  waitingOfOne: 8,
  waitingOfGroup: 64,
  waiting: 100,
  clock: systemTime,
}

/**
 * Occupies the only turn while work of the `parties` is added to the queue. Returns the order in which the queued work
 * ran.
 */
async function orderOf(parties: string[], limits: TurnLimits = LIMITS): Promise<string[]> {
  const turn = fairTurns(limits)
  const held = gate()
  const order: string[] = []
  const first = turn('first', () => held.pass)
  const others = parties.map((party) =>
    turn(party, async () => void order.push(party)).catch((error) => {
      order.push(`${party}: ${error.code}`)
    }),
  )
  held.open()
  await Promise.all([first, ...others])
  return order
}

describe('the queue for hashing', () => {
  test('runs the work of one party in order of arrival', async () => {
    const turn = fairTurns(LIMITS)
    const order: number[] = []
    await Promise.all(
      Array.from({ length: 9 }, (_, index) => turn('one', async () => void order.push(index))),
    )
    expect(order).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8])
  })

  test('alternates between parties, so that one party delays another by a single task', async () => {
    expect(await orderOf(['a', 'a', 'a', 'a', 'b', 'c', 'c'])).toEqual([
      'a',
      'b',
      'c',
      'a',
      'c',
      'a',
      'a',
    ])
  })

  test('rejects the ninth waiting task of a party, and accepts tasks of other parties', async () => {
    const order = await orderOf([...Array.from({ length: 10 }, () => 'a'), 'b'])
    expect(order.filter((name) => name === 'a')).toHaveLength(8)
    expect(order.filter((name) => name === 'a: overloaded')).toHaveLength(2)
    expect(order.filter((name) => name === 'b')).toHaveLength(1)
  })

  test('rejects tasks above the total limit, except the first task of each party', async () => {
    const order = await orderOf(['a', 'a', 'a', 'b', 'b'], { ...LIMITS, waiting: 2 })
    expect(order).toEqual(['a: overloaded', 'b: overloaded', 'a', 'b', 'a'])
  })
})

describe('several parties in one group', () => {
  const groupOf = (party: string) => party.charAt(0)

  test('delay other parties as one party would, and alternate among themselves', async () => {
    const order = await orderOf(['a1', 'a1', 'a2', 'a3', 'b'], { ...LIMITS, groupOf })
    expect(order).toEqual(['a1', 'b', 'a2', 'a3', 'a1'])
  })

  test('share one limit, and count towards the total limit', async () => {
    const many = Array.from({ length: 5 }, (_, index) => `a${index}`)
    const limits = { ...LIMITS, groupOf, waitingOfGroup: 3 }
    const refused = ['a3: overloaded', 'a4: overloaded']
    expect(await orderOf([...many, 'b'], limits)).toEqual([...refused, 'a0', 'b', 'a1', 'a2'])
    expect(await orderOf(['b', 'a0', 'a1'], { ...LIMITS, groupOf, waiting: 1 })).toEqual([
      'a1: overloaded',
      'b',
      'a0',
    ])
  })
})

test('the queue for hashing runs tasks up to the limit, and frees the slot of a task that fails', async () => {
  const turn = fairTurns({ ...LIMITS, atOnce: 2 })
  const held = gate()
  let running = 0
  const work = async () => {
    running += 1
    await held.pass
    throw new Error('failed')
  }
  const all = Array.from({ length: 5 }, () => turn('one', work))
  await Promise.resolve()
  expect(running).toBe(2)
  held.open()
  await Promise.allSettled(all)
  expect(await turn('one', async () => 'free')).toBe('free')
})

describe('two hashing slots for all parties', () => {
  /** Starts work that runs until the test releases it, and records which parties have started. */
  function two() {
    const clock = frozenClock()
    const turn = fairTurns({ ...LIMITS, atOnce: 2, clock })
    const begun: string[] = []
    const work = (party: string) => {
      const held = gate()
      const done = turn(party, async () => {
        begun.push(party)
        await held.pass
      })
      return () => {
        held.open()
        return done
      }
    }
    return { clock, begun, work }
  }

  test('are both given to a party that is alone', () => {
    const { begun, work } = two()
    for (const party of ['a', 'a', 'a']) work(party)
    expect(begun).toEqual(['a', 'a'])
  })

  test('are shared: one stays free for other parties while they are active', async () => {
    const { begun, work } = two()
    await work('b')()
    for (const party of ['a', 'a']) work(party)
    expect(begun).toEqual(['b', 'a'])
    work('b')
    expect(begun).toEqual(['b', 'a', 'b'])
  })

  test('are both given to one party again after ten seconds without others', async () => {
    const { clock, begun, work } = two()
    await work('b')()
    const [first] = ['a', 'a', 'a', 'a'].map(work)
    clock.elapse(9_999)
    await first?.()
    await settled()
    expect(begun).toEqual(['b', 'a', 'a'])
    clock.elapse(1)
    work('a')
    await settled()
    expect(begun).toEqual(['b', 'a', 'a', 'a'])
  })
})

describe('a low-priority group', () => {
  const givesWay = (group: string) => group === 'z'

  test('starts its tasks after those of other groups in the queue', async () => {
    const order = await orderOf(['z', 'z', 'a', 'b'], { ...LIMITS, givesWay })
    expect(order).toEqual(['a', 'b', 'z', 'z'])
  })

  test('is treated like other groups after it has waited for a second', async () => {
    const clock = frozenClock()
    const turn = fairTurns({ ...LIMITS, givesWay, clock })
    const held = gate()
    const order: string[] = []
    const first = turn('first', () => held.pass)
    const late = turn('z', async () => void order.push('z'))
    clock.elapse(1_000)
    const other = turn('a', async () => void order.push('a'))
    held.open()
    await Promise.all([first, late, other])
    expect(order).toEqual(['z', 'a'])
  })

  test('uses half of the slots, and pauses for as long as its task took', async () => {
    const clock = frozenClock()
    const turn = fairTurns({ ...LIMITS, atOnce: 2, givesWay, clock })
    const begun: string[] = []
    const work = (party: string) => {
      const held = gate()
      const done = turn(party, () => {
        begun.push(party)
        return held.pass
      })
      return () => {
        held.open()
        return done
      }
    }
    await work('a')()
    const first = work('z')
    work('z')
    expect(begun).toEqual(['a', 'z'])
    clock.elapse(50)
    await first()
    clock.elapse(49)
    expect(begun).toEqual(['a', 'z'])
    clock.elapse(1)
    await settled()
    expect(begun).toEqual(['a', 'z', 'z'])
  })
})
