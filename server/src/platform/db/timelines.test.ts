import { expect, test } from 'vitest'
import { frozenClock } from '../../../test/support/time.ts'
import { ServerRefused } from './failures.ts'
import { watchTimelines } from './timelines.ts'

const server = (timeline: string, systemId = '7') => ({ systemId, timeline, startedAt: '1.5' })

function watched() {
  const clock = frozenClock()
  const timelines = watchTimelines(clock)
  timelines.use(server('0000000A'))
  const isRefused = (timeline: string, systemId?: string) => {
    try {
      timelines.require(server(timeline, systemId))
      return false
    } catch (error) {
      expect(error).toBeInstanceOf(ServerRefused)
      return true
    }
  }
  return { clock, timelines, isRefused }
}

test('a node accepts a server with the same or a higher timeline, and any server of another cluster', () => {
  const { isRefused } = watched()
  expect(isRefused('0000000A')).toBe(false)
  expect(isRefused('00000010')).toBe(false)
  expect(isRefused('00000001', '8')).toBe(false)
})

test('a node refuses a server with a lower timeline for 30 s after the server first appeared', () => {
  const { clock, isRefused } = watched()
  for (let second = 0; second < 30; second += 1) {
    expect(isRefused('00000009')).toBe(true)
    clock.elapse(1_000)
  }
  expect(isRefused('00000009')).toBe(false)
})

test('a node refuses a server with a lower timeline again if it reappears after an hour', () => {
  const { clock, isRefused } = watched()
  expect(isRefused('00000009')).toBe(true)
  clock.elapse(3_600_000)
  expect(isRefused('00000009')).toBe(true)
})

test('a node refuses a server with a lower timeline for another 30 s after a server with a higher one was used', () => {
  const { clock, timelines, isRefused } = watched()
  expect(isRefused('00000009')).toBe(true)
  clock.elapse(30_000)
  timelines.use(server('0000000B'))
  expect(isRefused('0000000A')).toBe(true)
})
