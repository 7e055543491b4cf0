/** Counts over time: what each series counts, who sees it, and the buckets of the response. */
import { beforeAll, describe, expect, it } from 'vitest'
import { BOUNDS } from '../../src/features/stats/durations.ts'
import { DAY, MINUTE } from '../../src/lib/clock.ts'
import { senderTo } from '../payments/scene.ts'
import { type Clinic, makeClinic, PASSWORD, type Person, superadmin } from '../support/clinics.ts'
import { cardnetNotice } from '../support/payments.ts'
import { openReceiver } from '../support/receiver.ts'
import { openService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import { ALL_SERIES, readStats, type StatsScene, totalsOf } from './scene.ts'

let service: Service
let root: Person
let north: Clinic
let south: Clinic
let scene: StatsScene

beforeAll(async () => {
  service = await openService({ background: ['stats', 'webhooks', 'payments'] })
  root = await superadmin(service)
  north = await makeClinic(service, root, 'north')
  south = await makeClinic(service, root, 'south')
  scene = { service, clinic: north }
})

/** Returns by how much the work changes each total. */
async function increments(work: () => Promise<unknown>): Promise<Record<string, number>> {
  const before = await totalsOf(scene)
  await work()
  const after = await totalsOf(scene)
  const changed = Object.entries(after).map(
    ([name, total]) => [name, total - (before[name] ?? 0)] as const,
  )
  return Object.fromEntries(changed.filter(([, change]) => change !== 0))
}

const adminCall = (method: string, path: string, body?: unknown) =>
  service.call(method, path, { token: north.people.admin.token, body })

describe('the series', () => {
  it('count sign-ins and refused sign-ins', async () => {
    const login = (password: string) =>
      service.call('POST', '/api/auth/login', {
        body: { email: north.people.nurse.email, password, subdomain: north.subdomain },
      })
    const made = await increments(async () => {
      await login(PASSWORD)
      await login(PASSWORD)
      await login('wrong-Horse-9')
    })
    expect(made).toEqual({ sign_ins: 2, refused_sign_ins: 1 })
  })

  it('count changes, but neither reads of the audit log nor refused calls', async () => {
    const made = await increments(async () => {
      await adminCall('POST', '/api/admin/departments', { name: 'Counted' })
      await adminCall('PUT', `/api/admin/users/${north.people.nurse.id}`, { full_name: 'Renamed' })
      await adminCall('GET', '/api/admin/audit')
      await service.call('GET', '/api/admin/users', { token: north.people.nurse.token })
    })
    expect(made).toEqual({ changes: 2 })
  })

  it('count reads of patients', async () => {
    const { token } = north.people.doctor
    const { body: patient } = await service.call('POST', '/api/patients', {
      token,
      body: { full_name: 'Paula Patient', department_id: north.departmentId },
    })
    const made = await increments(async () => {
      await service.call('GET', `/api/patients/${patient.id}`, { token })
      await service.call('GET', '/api/patients', { token })
    })
    expect(made).toEqual({ patient_reads: 2 })
  })

  it('count payments by status, and as changes', async () => {
    const send = senderTo(service)
    const about = (type: string, id: string) =>
      cardnetNotice(type, { id, metadata: { tenant_id: String(north.id) } })
    const made = await increments(async () => {
      for (const type of ['created', 'succeeded', 'failed', 'canceled', 'refunded'])
        await send(about(type, `pi_${type}`))
      await until('the notifications are processed', async () => {
        await service.idle('payments')
        const waiting = await service.database.sql(
          "select from payment_notifications where state = 'received'",
        )
        return waiting.length === 0 || undefined
      })
    })
    expect(made).toEqual({
      payments_updated: 1,
      payments_succeeded: 1,
      payments_failed: 1,
      payments_canceled: 1,
      payments_refunded: 1,
      changes: 5,
    })
  })

  it('count deliveries by result, with the durations of their attempts', async () => {
    const hooks: number[] = []
    for (const status of [200, 500]) {
      const receiver = await openReceiver({ answer: () => ({ status, delayMs: 120 }) })
      const { body } = await adminCall('POST', '/api/webhooks/register', {
        url: receiver.url,
        events: ['department.created'],
      })
      hooks.push(body.id)
    }
    const made = await increments(async () => {
      await adminCall('POST', '/api/admin/departments', { name: 'Delivered' })
      await until('both attempts are recorded', async () => {
        await service.idle('webhooks')
        const tried = await service.database.sql(
          'select from webhook_deliveries where webhook_id = any($1) and attempts > 0',
          [hooks],
        )
        return tried.length === hooks.length || undefined
      })
    })
    expect(made).toEqual({ changes: 1, deliveries_delivered: 1, deliveries_retried: 1 })
    const ended = await increments(async () => {
      const { sql } = service.database
      await sql('update webhook_deliveries set retry_step = 99 where webhook_id = $1', [hooks[1]])
      service.clock.advance(10 * MINUTE)
      await until('the delivery has failed', async () => {
        await service.idle('webhooks')
        const [{ status } = {}] = await sql<{ status: string }>(
          'select status from webhook_deliveries where webhook_id = $1',
          [hooks[1]],
        )
        return status === 'failed' || undefined
      })
    })
    expect(ended).toEqual({ deliveries_failed: 1 })
    const { body } = await readStats(scene, { series: ['deliveries_delivered'] })
    const [{ durations }] = body.series
    const [attempt] = await service.database.sql<{ duration_ms: number }>(
      'select duration_ms from webhook_attempts where webhook_id = $1',
      [hooks[0]],
    )
    const step = BOUNDS.filter((bound) => bound <= (attempt?.duration_ms ?? 0)).length
    for (const estimate of [durations.p50_ms, durations.p95_ms]) {
      expect(estimate).toBeGreaterThanOrEqual(BOUNDS[step - 1] ?? 0)
      expect(estimate).toBeLessThanOrEqual(BOUNDS[step] ?? 30_000)
    }
    expect(
      durations.values.filter((value: { p50_ms: number | null }) => value.p50_ms !== null),
    ).toHaveLength(1)
  })
})

describe('the response', () => {
  it('has zeros for buckets without events, and marks only the current bucket as partial', async () => {
    const { body } = await readStats(
      { service, clinic: south },
      { bucket: 'day', days: 30, series: ['payments_refunded'] },
    )
    expect(body.buckets).toHaveLength(31)
    expect(body.series).toEqual([
      {
        name: 'payments_refunded',
        total: 0,
        values: Array.from({ length: 31 }, () => 0),
        durations: null,
      },
    ])
    expect(body.buckets.map(({ partial }: { partial: boolean }) => partial)).toEqual([
      ...Array.from({ length: 30 }, () => false),
      true,
    ])
  })

  it('has no buckets in the future', async () => {
    const now = service.clock.now()
    const ask = (from: number, to: number) =>
      service.call('GET', '/api/admin/stats', {
        token: north.people.admin.token,
        query: {
          series: 'changes',
          bucket: 'day',
          from: new Date(from).toISOString(),
          to: new Date(to).toISOString(),
        },
      })
    expect((await ask(now - DAY, now + 5 * DAY)).body.buckets).toHaveLength(2)
    expect((await ask(now + 2 * DAY, now + 5 * DAY)).body).toMatchObject({
      buckets: [],
      series: [{ total: 0, values: [] }],
    })
  })

  it('counts an event in the day of the time zone', async () => {
    await service.database.sql(
      `insert into stats (tenant_id, series, slot, count) values
         ($1, 'payments_canceled', '2026-10-24T21:45Z', 1),
         ($1, 'payments_canceled', '2026-10-24T22:00Z', 10),
         ($1, 'payments_canceled', '2026-10-25T22:45Z', 100),
         ($1, 'payments_canceled', '2026-10-25T23:00Z', 1000)`,
      [north.id],
    )
    const ask = (time_zone: string) =>
      service.call('GET', '/api/admin/stats', {
        token: north.people.admin.token,
        query: {
          series: 'payments_canceled',
          bucket: 'day',
          from: '2026-10-24T12:00:00Z',
          to: '2026-10-26T12:00:00Z',
          time_zone,
        },
      })
    expect((await ask('Europe/Berlin')).body.series[0].values).toEqual([1, 110, 1000])
    expect((await ask('UTC')).body.series[0].values).toEqual([11, 1100, 0])
  })

  it.each([
    ['an unknown time zone', { time_zone: 'Europe/Nowhere' }, 'time_zone'],
    ['an offset as time zone', { time_zone: '+02:00' }, 'time_zone'],
    ['an unknown series', { series: 'changes_of_mind' }, 'series'],
    ['an end before the start', { to: '2026-10-01T00:00:00Z' }, 'to'],
    ['too many hours', { bucket: 'hour', to: '2026-12-02T00:00:00Z' }, 'to'],
    ['a start in a leap second', { from: '2026-06-30T23:59:60Z' }, 'from'],
    ['an end in a leap second', { to: '2026-12-31T23:59:60Z' }, 'to'],
    ['a start in the year 0', { from: '0000-01-01T00:00:00Z' }, 'from'],
    ['a start in the year 1', { from: '0001-01-01T00:00:00Z' }, 'from'],
    ['an end in the year 9999', { to: '9999-12-31T23:00:00Z' }, 'to'],
    ['too many days', { to: '2027-12-01T00:00:00Z' }, 'to'],
  ])('is 422 for %s', async (_, fields, field) => {
    const { status, body } = await service.call('GET', '/api/admin/stats', {
      token: north.people.admin.token,
      query: {
        series: 'changes',
        bucket: 'day',
        from: '2026-10-24T00:00:00Z',
        to: '2026-10-26T00:00:00Z',
        ...fields,
      },
    })
    expect(status).toBe(422)
    expect(body.detail[0].loc).toContain(field)
  })
})

describe('the counts of a clinic', () => {
  it('are hidden from other clinics, and a superadmin sees one or all of them', async () => {
    await service.database.sql("delete from stats where series = 'payments_refunded'")
    await service.database.sql(
      `insert into stats (tenant_id, series, slot, count)
       select tenant, 'payments_refunded', date_bin('15 minutes', now(), 'epoch'), n
       from unnest($1::bigint[], '{1,10,100}'::bigint[]) c(tenant, n)`,
      [[north.id, south.id, null]],
    )
    const total = async (person: Person, query = {}) => {
      const { body } = await readStats(scene, { series: ['payments_refunded'], person, query })
      return [body.tenant_id, body.series[0].total]
    }
    expect(await total(north.people.admin)).toEqual([north.id, 1])
    expect(await total(south.people.admin)).toEqual([south.id, 10])
    expect(await total(root, { tenant_id: north.id })).toEqual([north.id, 1])
    expect(await total(root)).toEqual([null, 111])
    const other = await readStats(scene, {
      series: ALL_SERIES,
      person: north.people.admin,
      query: { tenant_id: south.id },
    })
    expect(other).toMatchObject({ status: 403, body: { code: 'other_tenant' } })
  })
})
