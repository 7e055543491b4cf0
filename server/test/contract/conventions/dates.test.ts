/** `from_date` and `to_date`: dates and times, both inclusive, to the millisecond. */
import { beforeAll, describe, expect, test } from 'vitest'
import { type Clinic, makeClinic, superadmin } from '../../support/clinics.ts'
import { openService, type Service } from '../../support/service.ts'

let service: Service
let clinic: Clinic
/** A day of next month, whose partition exists and which has no other entries. */
let day: string
let dayBefore: string
let dayAfter: string

beforeAll(async () => {
  service = await openService()
  clinic = await makeClinic(service, await superadmin(service), 'dates')
  const today = new Date()
  const dayOf = (date: number) =>
    new Date(Date.UTC(today.getUTCFullYear(), today.getUTCMonth() + 1, date))
      .toISOString()
      .slice(0, 10)
  ;[dayBefore, day, dayAfter] = [dayOf(9), dayOf(10), dayOf(11)]
  for (const time of [
    `${dayBefore}T23:59:59.999Z`,
    `${day}T00:00:00.000Z`,
    `${day}T12:00:00.500Z`,
    `${day}T23:59:59.999Z`,
    `${dayAfter}T00:00:00.000Z`,
  ])
    await service.database.sql(
      `insert into journal (tenant_id, action, resource_type, resource_id, created_at)
       values ($1, 'user.updated', 'user', $2, $3)`,
      [clinic.id, time, time],
    )
})

const audit = (query: Record<string, string>) =>
  service.call('GET', '/api/admin/audit', {
    token: clinic.people.auditor.token,
    query: { sort_order: 'asc', ...query },
  })

/**
 * Returns the times of the entries found. A time on `day` has no date. On the neighbouring days, `before` or `after`
 * replaces the date.
 */
async function timesOf(query: Record<string, string>): Promise<string[]> {
  const answer = await audit(query)
  expect(answer.status).toBe(200)
  return answer.body.items
    .map((entry: { resource_id: string }) => entry.resource_id.replace(`${day}T`, ''))
    .map((time: string) =>
      time.replace(`${dayBefore}T`, 'before ').replace(`${dayAfter}T`, 'after '),
    )
}

const ALL_DAY = ['00:00:00.000Z', '12:00:00.500Z', '23:59:59.999Z']

describe('a date without a time', () => {
  test('covers the whole day in UTC, from its first millisecond to its last', async () => {
    expect(await timesOf({ from_date: day, to_date: day })).toEqual(ALL_DAY)
  })

  test('may be only the start, or only the end, of a range', async () => {
    expect(await timesOf({ from_date: day })).toEqual([...ALL_DAY, 'after 00:00:00.000Z'])
    const until = await timesOf({ from_date: dayBefore, to_date: day })
    expect(until).toEqual(['before 23:59:59.999Z', ...ALL_DAY])
  })
})

describe('a date with a time', () => {
  test('includes its millisecond, as start and as end of a range', async () => {
    const noon = `${day}T12:00:00.500Z`
    expect(await timesOf({ from_date: noon, to_date: noon })).toEqual(['12:00:00.500Z'])
    expect(await timesOf({ from_date: `${day}T12:00:00.501Z`, to_date: day })).toEqual([
      '23:59:59.999Z',
    ])
    expect(await timesOf({ from_date: day, to_date: `${day}T12:00:00.499Z` })).toEqual([
      '00:00:00.000Z',
    ])
  })

  test.each(['Z', '', 'z', '+00:00', '-00:00', '+0000'])(
    'is read as UTC if its zone is "%s"',
    async (zone) => {
      const query = {
        from_date: `${day}T12:00:00.500${zone}`,
        to_date: `${day}T12:00:00.500${zone}`,
      }
      expect(await timesOf(query)).toEqual(['12:00:00.500Z'])
    },
  )

  test('may have an offset, a space instead of the T, and no seconds', async () => {
    expect(
      await timesOf({
        from_date: `${day}T14:30:00.500+02:30`,
        to_date: `${day} 07:00:00.500-05:00`,
      }),
    ).toEqual(['12:00:00.500Z'])
    expect(await timesOf({ from_date: `${day}T12:00`, to_date: `${day}T12:01` })).toEqual([
      '12:00:00.500Z',
    ])
  })
})

describe('a date range', () => {
  test.each([
    ['2026-11-22', '2026-11-21'],
    ['2026-11-21T10:00:00.001Z', '2026-11-21T10:00:00Z'],
    ['2026-11-22', '2026-11-21T23:59:59.999Z'],
    ['2026-11-21T12:00:00Z', '2026-11-21T13:00:00+02:00'],
  ])(
    'from %s to %s is refused, because its end is before its start',
    async (from_date, to_date) => {
      const answer = await audit({ from_date, to_date })
      expect(answer.status).toBe(422)
      expect(answer.body.detail).toMatchObject([
        { loc: ['query', 'from_date'], type: 'value_error' },
      ])
    },
  )

  test('may cover all supported years', async () => {
    const span = { from_date: '0001-01-01T00:00:00+14:00', to_date: '9999-12-31' }
    expect((await audit(span)).body.total).toBeGreaterThan(5)
    expect(await timesOf({ from_date: '9999-12-31T23:59:59-12:00' })).toEqual([])
    expect(await timesOf({ to_date: '0001-01-01' })).toEqual([])
  })
})

describe('an invalid date', () => {
  test.each([
    '',
    'yesterday',
    '20261121',
    '2026-11',
    '2026-02-30',
    '2025-02-29',
    '2026-13-01',
    '2026-11-00',
    '0000-01-01',
    '12026-01-01',
    '2026-11-21T25:00:00Z',
    '2026-11-21T10:61:00Z',
    '2026-11-21T10:00:00 CET',
    '2026-11-21T10:00:00Z[UTC]',
    '1763719200',
  ])('is refused as start and as end: "%s"', async (text) => {
    for (const name of ['from_date', 'to_date']) {
      const answer = await audit({ [name]: text })
      expect([name, answer.status]).toEqual([name, 422])
      expect(answer.body.detail).toMatchObject([{ loc: ['query', name], type: 'datetime_parsing' }])
    }
  })

  test('is reported for the start and the end together', async () => {
    const answer = await audit({ from_date: 'then', to_date: 'now' })
    expect(answer.body.detail).toHaveLength(2)
  })
})
