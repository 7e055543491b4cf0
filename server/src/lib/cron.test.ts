/** Tests the times of cron expressions before and after an instant. */
import { describe, expect, test } from 'vitest'
import { parseCron } from './cron.ts'

const at = (text: string) => Date.parse(text)

test.each([
  ['30 2 * * *', '2026-11-22T02:30:00Z', '2026-11-23T02:30:00Z', '2026-11-21T02:30:00Z'],
  ['0 2 * * 1-5', '2026-11-21T12:00:00Z', '2026-11-23T02:00:00Z', '2026-11-20T02:00:00Z'],
])(
  'the cron parser finds the next and previous times of the schedule %s around %s',
  (text, now, after, before) => {
    const cron = parseCron(text)
    expect(cron.after(at(now))).toBe(at(after))
    expect(cron.before(at(now))).toBe(at(before))
  },
)

describe('parsing a schedule rejects', () => {
  test.each(['', 'daily', '* * * *', '0 0 2 * * *', '61 * * * *', '* * 31 2 *', '@daily'])(
    '"%s"',
    (text) => {
      expect(() => parseCron(text)).toThrow(/^must be a cron expression/)
    },
  )
})
