import { describe, expect, it } from 'vitest'
import { holdOf } from './event-loop.ts'

const METRICS = `# HELP nodejs_eventloop_lag_max_seconds The maximum recorded event loop delay.
# TYPE nodejs_eventloop_lag_max_seconds gauge
nodejs_eventloop_lag_seconds 0.5
nodejs_eventloop_lag_max_seconds 0.010125311
nodejs_eventloop_lag_mean_seconds 0.0101`

describe('the delay of the event loop', () => {
  it('is read in milliseconds from the metrics response', () => {
    expect(holdOf(METRICS)).toBeCloseTo(10.125)
    expect(holdOf('nodejs_eventloop_lag_max_seconds{node="1"} 1.5\n')).toBe(1500)
  })

  it('throws an error if the metrics response does not contain the delay', () => {
    expect(() => holdOf('up 1')).toThrow('nothing of the event loop')
    expect(() => holdOf('nodejs_eventloop_lag_max_seconds NaN')).toThrow('nothing')
  })
})
