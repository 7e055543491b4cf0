/** The sweep gives way to whoever waits. */
import { expect, test } from 'vitest'
import { openPace, restMs } from './pace.ts'

test.each([
  { what: 'nobody waits', heldMs: 3, waiting: 0, rest: 0 },
  { what: 'the event loop was held', heldMs: 30, waiting: 0, rest: 40 },
  { what: 'somebody waits for a connection', heldMs: 0, waiting: 1, rest: 40 },
])('where $what it rests for $rest of the 40 ms that it worked', ({ heldMs, waiting, rest }) => {
  expect(restMs({ workedMs: 40, heldMs, waiting })).toBe(rest)
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
