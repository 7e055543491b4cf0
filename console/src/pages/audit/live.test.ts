import { expect, test } from 'vitest'
import { liveWords } from './live.ts'

const at = new Date(2026, 10, 27, 14, 2, 11)
const toggle = () => undefined

test.each([
  [{ isOn: false, isRunning: false, toggle }, { ids: new Set<number>(), at: undefined }, ''],
  [
    { isOn: true, isRunning: true, toggle },
    { ids: new Set<number>(), at: undefined },
    'Waiting for new entries',
  ],
  [{ isOn: true, isRunning: true, toggle }, { ids: new Set([1]), at }, '1 new entry, 14:02:11'],
  [
    { isOn: true, isRunning: true, toggle },
    { ids: new Set([1, 2, 3]), at },
    '3 new entries, 14:02:11',
  ],
])(
  'the audit log page describes the new entries of live updates (case %#)',
  (live, arrivals, words) => {
    expect(liveWords(live, arrivals)).toBe(words)
  },
)
