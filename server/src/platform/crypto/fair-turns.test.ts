/** Whose work comes next, and who is told to come later. */
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

/** Occupies the only turn until it is let go, while `asked` queues up; returns the order of the work. */
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

describe('those who wait', () => {
  test('come in the order in which they came, of one party', async () => {
    const turn = fairTurns(LIMITS)
    const order: number[] = []
    await Promise.all(
      Array.from({ length: 9 }, (_, index) => turn('one', async () => void order.push(index))),
    )
    expect(order).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8])
  })

  test('of several parties take turns: the queue of one delays the others by one piece', async () => {
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

  test('are eight of one party; the ninth is told to come later, and others are not', async () => {
    const order = await orderOf([...Array.from({ length: 10 }, () => 'a'), 'b'])
    expect(order.filter((name) => name === 'a')).toHaveLength(8)
    expect(order.filter((name) => name === 'a: overloaded')).toHaveLength(2)
    expect(order.filter((name) => name === 'b')).toHaveLength(1)
  })

  test('are so many in all, but for the first of each party', async () => {
    const order = await orderOf(['a', 'a', 'a', 'b', 'b'], { ...LIMITS, waiting: 2 })
    expect(order).toEqual(['a: overloaded', 'b: overloaded', 'a', 'b', 'a'])
  })
})

describe('parties that may be one hand', () => {
  const groupOf = (party: string) => party.charAt(0)

  test('delay others as one of them would, and take turns among themselves', async () => {
    const order = await orderOf(['a1', 'a1', 'a2', 'a3', 'b'], { ...LIMITS, groupOf })
    expect(order).toEqual(['a1', 'b', 'a2', 'a3', 'a1'])
  })

  test('wait so many in all, and so many beside others', async () => {
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

test('as many run as may, and a failure gives its turn back', async () => {
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

describe('of two turns', () => {
  /** Pieces of work that run until they are let go, and who has begun so far. */
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

  test('somebody alone has both', () => {
    const { begun, work } = two()
    for (const party of ['a', 'a', 'a']) work(party)
    expect(begun).toEqual(['a', 'a'])
  })

  test('one stays free while others come, who wait for nobody', async () => {
    const { begun, work } = two()
    await work('b')()
    for (const party of ['a', 'a']) work(party)
    expect(begun).toEqual(['b', 'a'])
    work('b')
    expect(begun).toEqual(['b', 'a', 'b'])
  })

  test('both are had by one again, ten seconds after the last of the others', async () => {
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

describe('a group that gives way', () => {
  const givesWay = (group: string) => group === 'z'

  test('begins after the others who wait', async () => {
    const order = await orderOf(['z', 'z', 'a', 'b'], { ...LIMITS, givesWay })
    expect(order).toEqual(['a', 'b', 'z', 'z'])
  })

  test('takes its turn like the others once it has waited for a second', async () => {
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

  test('uses half of the turns, and rests for as long as its piece took', async () => {
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
