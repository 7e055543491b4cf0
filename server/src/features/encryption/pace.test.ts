/** The sweep gives way to whoever waits, and to whoever is there. */
import { expect, test } from 'vitest'
import { frozenClock } from '../../../test/support/time.ts'
import { SECOND } from '../../lib/clock.ts'
import { openPace, restsAfter } from './pace.ts'

const FREE = { heldMs: 3, waiting: 0, others: 0.2 }

test.each([
  { what: 'the event loop was held', felt: { ...FREE, heldMs: 30 } },
  { what: 'somebody waits for a connection', felt: { ...FREE, waiting: 1 } },
])('where $what it rests, twice as long each time up to a bound', ({ felt }) => {
  const rests = [0]
  for (let batch = 0; batch < 6; batch += 1) rests.push(restsAfter(rests[batch] ?? 0, felt))
  expect(rests).toEqual([0, 1, 2, 4, 8, 8, 8])
})

test('once nobody waits any more it goes faster, batch by batch', () => {
  const rests = [8]
  for (let batch = 0; batch < 5; batch += 1) rests.push(restsAfter(rests[batch] ?? 0, FREE))
  expect(rests).toEqual([8, 4, 2, 1, 0, 0])
})

test('the more others there are the longer it rests, though none of them waits', () => {
  const rests = [0.3, 0.8, 1.3, 5].map((others) => restsAfter(0, { ...FREE, others }))
  expect(rests).toEqual([0, 3, 6, 8])
})

test('its own transactions are no others, and what it has not finished tells nothing', async () => {
  let spent = 0
  const clock = frozenClock()
  const held = { max: 0, reset: () => undefined, disable: () => undefined }
  const pace = openPace({ waiting: () => 0, spentMs: () => spent, clock }, held as never)
  const own = () =>
    pace.work(async () => {
      clock.elapse(20)
      spent += 20
    })
  const rest = () => {
    const rested = pace.rest()
    clock.elapse(SECOND)
    return rested
  }
  expect(await rest()).toBe(false)
  await own()
  expect(await rest()).toBe(false)
  spent += 5_000
  expect(await rest()).toBe(false)
  await own()
  expect(await rest()).toBe(true)
})
