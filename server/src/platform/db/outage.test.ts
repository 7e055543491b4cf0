import pg from 'pg'
import { expect, test } from 'vitest'
import { frozenClock } from '../../../test/support/time.ts'
import { Problem } from '../../lib/problems.ts'
import type { Logger } from '../observe/log.ts'
import { markFailure, ServerMoved, ServerRefused } from './failures.ts'
import { watchOutages } from './outage.ts'

function watched() {
  const clock = frozenClock()
  const lines: [string, unknown, unknown][] = []
  const at = (level: string) => (fields: unknown, message: unknown) =>
    void lines.push([level, fields, message])
  const raw = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
  const outage = watchOutages(raw as Logger, clock)
  const state = { trusted: true }
  outage.follow({ trusted: () => state.trusted })
  const shown = () =>
    lines.filter(([level]) => level !== 'debug').map(([level, , message]) => `${level} ${message}`)
  return { clock, outage, state, lines, shown }
}

const refused = () => Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })

test('the service logs the beginning and the end of an outage, with the number of failures', () => {
  const { clock, outage, state, lines, shown } = watched()
  state.trusted = false
  outage.log.warn({ err: markFailure(refused()) }, 'looking failed')
  outage.log.error({ err: new Problem('database_away', { cause: refused() }) }, 'failed')
  clock.elapse(5_000)
  expect(shown()).toEqual(['warn database not reachable'])
  state.trusted = true
  clock.elapse(500)
  expect(shown()).toEqual(['warn database not reachable', 'info database reachable again'])
  expect(lines.at(-1)?.[1]).toEqual({ away_ms: 5_500, failures: 2 })
  clock.elapse(5_000)
  expect(shown()).toHaveLength(2)
})

test('the service does not log the end of an outage while requests still fail', () => {
  const { clock, outage, shown } = watched()
  for (let times = 0; times < 5; times++) {
    outage.log.error({ err: new ServerRefused('standby') }, 'failed')
    clock.elapse(500)
  }
  const begun = ['warn database not reachable', 'warn database server rejected']
  expect(shown()).toEqual(begun)
  clock.elapse(1_000)
  expect(shown()).toEqual([...begun, 'info database reachable again'])
})

test('the service logs the reason for which a server is refused once per outage', () => {
  const { clock, outage, state, lines, shown } = watched()
  const refusals = () => lines.filter(([, , message]) => message === 'database server rejected')
  state.trusted = false
  outage.log.warn({ err: markFailure(refused()) }, 'looking failed')
  outage.log.warn({ err: new ServerMoved() }, 'looking failed')
  expect(shown()).toEqual(['warn database not reachable'])
  outage.log.warn({ err: new Error('looking failed', { cause: new ServerRefused('a standby') }) })
  outage.log.warn({ err: new ServerRefused('another standby') }, 'looking failed')
  expect(refusals()).toEqual([['warn', { reason: 'a standby' }, 'database server rejected']])
  state.trusted = true
  clock.elapse(1_000)
  outage.log.warn({ err: new ServerRefused('read-only') }, 'looking failed')
  expect(refusals()[1]?.[1]).toEqual({ reason: 'read-only' })
})

test.each([
  ['another system that refuses connections', refused()],
  ['an invalid statement', Object.assign(new pg.DatabaseError('x', 1, 'error'), { code: '42601' })],
  ['a line without an error', undefined],
])('the service does not treat %s as an outage', (_, err) => {
  const { outage, shown } = watched()
  outage.log.warn({ err }, 'sending failed')
  expect(shown()).toEqual(['warn sending failed'])
})

test('the service reports an outage of more than a minute as recent for 5 minutes', () => {
  const { clock, outage, state } = watched()
  const away = (ms: number) => {
    state.trusted = false
    outage.log.warn({ err: new ServerRefused('standby') }, 'failed')
    clock.elapse(ms)
    expect(outage.isRecent()).toBe(true)
    state.trusted = true
    clock.elapse(500)
  }
  away(30_000)
  expect(outage.isRecent()).toBe(false)
  away(61_000)
  expect(outage.isRecent()).toBe(true)
  clock.elapse(300_000)
  expect(outage.isRecent()).toBe(false)
})
