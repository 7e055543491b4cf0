/** Scans that a superadmin requests: one at a time, shown as a job, cancelled, and interrupted by a shutdown. */
import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { openLockConnection, ownerClient } from '../../src/platform/db/index.ts'
import { type Clinic, makeClinic, type Person, superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'

let service: Service
let root: Person
let north: Clinic

beforeAll(async () => {
  service = await openService()
  root = await superadmin(service)
  north = await makeClinic(service, root, 'north')
})

beforeEach(() => service.database.sql('delete from jobs'))

const scan = ({ token }: Person = root) =>
  service.call('POST', '/api/admin/self-healing/scan', { token })
const job = async (id: string) =>
  (await service.call('GET', `/api/admin/jobs/${id}`, { token: root.token })).body
const ended = (id: string) =>
  until('the scan has ended', async () => {
    const found = await job(id)
    return found.finished_at ? found : undefined
  })

/** Holds the lock of a scan, as a scheduled scan on another node does. */
async function holdScanLock() {
  const holder = await openLockConnection(ownerClient(service.database.address))
  onTestFinished(() => holder.close())
  expect(await holder.take('fixes', 0)).toBe(true)
  return holder
}

describe('a requested scan', () => {
  it('finds faults, and ends as a completed job', async () => {
    const { departmentId, people } = north
    await service.database.sql('update departments set head_doctor_id = $1 where id = $2', [
      people.nurse.id,
      departmentId,
    ])
    const { status, body } = await scan()
    expect([status, body]).toEqual([202, { job_id: expect.any(String), started: true }])
    const total = service.app.fixes.length
    expect(await ended(body.job_id)).toMatchObject({
      kind: 'self_healing_scan',
      status: 'completed',
      unit: 'checks',
      done: total,
      created_by: root.id,
      tenant_id: null,
    })
    const path = '/api/admin/self-healing'
    const { items } = (await service.call('GET', `${path}/fixes`, { token: root.token })).body
    expect(items.find(({ key }: any) => key === 'departments.head')).toMatchObject({
      status: 'proposed',
      evidence: [{ tenant_id: north.id }],
    })
    const stats = await service.call('GET', `${path}/stats`, { token: root.token })
    expect(stats.body.last_scan).toMatchObject({ looked_at: total, unknown: 0 })
  })

  it('is started once by simultaneous first requests, which all get its job', async () => {
    const answers = await Promise.all([scan(), scan(), scan(), scan()])
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 202, 202])
    expect(new Set(answers.map(({ body }) => body.job_id)).size).toBe(1)
    expect(answers.filter(({ body }) => body.started)).toHaveLength(1)
    expect(await ended(answers[0]?.body.job_id)).toMatchObject({ status: 'completed' })
    const next = await scan()
    expect(next.body.started).toBe(true)
    await ended(next.body.job_id)
  })

  it('waits while another scan is running', async () => {
    const holder = await holdScanLock()
    const { body } = await scan()
    await until('the scan waits', async () => {
      const { phase } = await job(body.job_id)
      return phase === 'Waiting for another scan to end' || undefined
    })
    await holder.release('fixes', 0)
    expect(await ended(body.job_id)).toMatchObject({ status: 'completed' })
  })

  it('can be cancelled', async () => {
    await holdScanLock()
    const { body } = await scan()
    const path = `/api/admin/jobs/${body.job_id}`
    expect((await service.call('DELETE', path, { token: root.token })).status).toBe(204)
    expect(await job(body.job_id)).toMatchObject({ status: 'cancelled' })
  })

  it('cannot be requested by an administrator of a clinic', async () => {
    expect((await scan(north.people.admin)).status).toBe(403)
  })

  it('ends as a failed job when the service stops', async () => {
    const other = await openService()
    const operator = await superadmin(other)
    const holder = await openLockConnection(ownerClient(other.database.address))
    await holder.take('fixes', 0)
    const path = '/api/admin/self-healing/scan'
    expect((await other.call('POST', path, { token: operator.token })).status).toBe(202)
    await other.app.close()
    expect(await other.database.sql('select status, error from jobs')).toMatchObject([
      { status: 'failed', error: expect.stringContaining('Start the scan again') },
    ])
    await holder.close()
  })
})
