import { expect, test } from 'vitest'
import { reportOf } from './report.ts'

test('the report prints a row for each scenario, followed by its faults', () => {
  const passed = {
    ...{ title: 'switchover', faults: [], writes: 420 },
    ...{ pauseMs: 1_450, slowestMs: 980, seconds: 20.4 },
  }
  const failed = { ...passed, title: 'frozen leader', faults: ['2 users are lost', 'another'] }
  expect(reportOf([passed, failed])).toBe(
    [
      'Scenario       Result  Writes  Pause  Slowest  Seconds',
      '──────────────────────────────────────────────────────',
      'switchover     passed  420     1.4 s  1.0 s    20',
      'frozen leader  FAILED  420     1.4 s  1.0 s    20',
      '    ✗ 2 users are lost',
      '    ✗ another',
      '',
      '1 passed, 1 failed',
    ].join('\n'),
  )
})
