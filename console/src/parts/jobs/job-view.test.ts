import { describe, expect, test } from 'vitest'
import { viewOf } from './job-view.ts'
import type { ServiceJob } from './use-job.ts'

const running: ServiceJob = {
  job_id: 'a',
  kind: 'backup',
  tenant_id: 1,
  subject_id: null,
  status: 'running',
  phase: 'Writing the rows to the file',
  done: 400,
  total: 1_000,
  unit: 'records',
  rate: 100,
  error: null,
  result: null,
  created_by: 1,
  created_by_email: 'ada@north.example',
  created_at: '2026-11-20T10:00:00.000Z',
  started_at: '2026-11-20T10:00:05.000Z',
  progressed_at: null,
  finished_at: null,
  can_cancel: true,
}

describe('the view of a job', () => {
  test('contains the phase, the progress and the time left', () => {
    expect(viewOf(running, false)).toEqual({
      state: 'running',
      phase: 'Writing the rows to the file',
      done: 400,
      total: 1_000,
      unit: 'records',
      secondsLeft: 6,
      startedAt: '2026-11-20T10:00:05.000Z',
      startedBy: 'ada@north.example',
    })
  })

  test('contains no numbers while the amount of work is unknown', () => {
    const view = viewOf({ ...running, done: null, total: null, rate: null }, false)
    expect(view).not.toHaveProperty('done')
    expect(view).not.toHaveProperty('secondsLeft')
  })

  test('waits while the service does not answer, except if the job has ended', () => {
    expect(viewOf(running, true).state).toBe('maintenance')
    expect(viewOf({ ...running, status: 'completed' }, true).state).toBe('completed')
  })

  test('names the error of a failed job', () => {
    const failed = { ...running, status: 'failed' as const, error: 'The disk is full' }
    expect(viewOf(failed, false)).toMatchObject({ state: 'failed', phase: 'The disk is full' })
  })

  test('names the state of a job without phases', () => {
    const phases = (['queued', 'running', 'completed', 'cancelled'] as const).map(
      (status) => viewOf({ ...running, status, phase: null }, false).phase,
    )
    expect(phases).toEqual(['Waiting for its turn', 'Running', 'Completed', 'Cancelled'])
  })
})
