import { expect, test } from 'vitest'
import { MAX_RECENT, type RecentEntry, recentEntries } from './recent-entries.ts'

const entry = (id: number): RecentEntry => ({
  id,
  created_at: '2026-11-21T12:00:00.000Z',
  tenant_id: 1,
  action: 'department.created',
  resource_type: 'department',
  resource_id: String(id),
})
const many = (count: number, first = 1) =>
  Array.from({ length: count }, (_, at) => entry(first + at))
const on = (timeline: string) => ({ systemId: '7', timeline, startedAt: '1' })
const [former, next] = [on('1'), on('2')]
const ids = (entries: readonly RecentEntry[]) => entries.map(({ id }) => id)

test('a node keeps the last 100 journal entries', () => {
  const recent = recentEntries()
  recent.add(former, many(150))
  recent.add(former, [entry(500)])
  const kept = ids(recent.acknowledgedElsewhere(next))
  expect([kept.length, kept[0], kept.at(-1)]).toEqual([MAX_RECENT, 52, 500])
})

test('a node returns journal entries that another server acknowledged and this server lacks', () => {
  const recent = recentEntries()
  recent.add(former, many(3))
  recent.add(next, [entry(4)])
  expect(recent.acknowledgedElsewhere(former)).toEqual([entry(4)])
  const searched = recent.acknowledgedElsewhere(next)
  recent.settle(next, searched, searched.slice(1))
  expect(recent.acknowledgedElsewhere(next)).toEqual([])
  expect(ids(recent.acknowledgedElsewhere(former))).toEqual([1, 4])
})
