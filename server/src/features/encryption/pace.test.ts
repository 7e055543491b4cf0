/** The sweep gives way to whoever waits. */
import { expect, test } from 'vitest'
import { openPace, restsAfter } from './pace.ts'

const FREE = { heldMs: 3, waiting: 0 }

test.each([
  { what: 'the event loop was held', felt: { heldMs: 30, waiting: 0 } },
  { what: 'somebody waits for a connection', felt: { heldMs: 0, waiting: 1 } },
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

test('whether somebody waits is asked each time', async () => {
  let asked = 0
  const pace = openPace(() => {
    asked += 1
    return 0
  })
  await pace.rest()
  await pace.rest()
  expect(asked).toBe(2)
  pace.stop()
})
