/** Tests that the cache stays within its limits, and evicts fairly among tenants. */
import { describe, expect, test } from 'vitest'
import { dice } from '../../test/support/seeded-random.ts'
import { fairLru } from './fair-lru.ts'

interface Value {
  labels: string[]
}

const open = (max: number) =>
  fairLru<string, Value>({ maxEntries: max, labelsOf: ({ labels }) => labels })
const value = (...labels: string[]): Value => ({ labels })

/** Returns the keys that the tenant has cached. Looks them up in this order. */
const heldOf = (lru: ReturnType<typeof open>, tenantId: number, keys: string[]) =>
  keys.filter((key) => lru.get(tenantId, key))

describe('the eviction of a value from the cache', () => {
  test('removes the least recently used value', () => {
    const lru = open(3)
    for (const key of ['a', 'b', 'c']) lru.set(1, key, value())
    lru.get(1, 'a')
    lru.set(1, 'd', value())
    lru.set(1, 'e', value())
    expect(heldOf(lru, 1, ['a', 'b', 'c', 'd', 'e'])).toEqual(['a', 'd', 'e'])
  })

  test('evicts from the tenant that uses the most bytes, however busy it is', () => {
    const lru = open(10)
    lru.set(1, 'quiet', value())
    for (let i = 0; i < 1_000; i++) lru.set(2, `busy ${i}`, value())
    for (let i = 0; i < 4; i++) lru.set(3, `third ${i}`, value())
    expect(heldOf(lru, 1, ['quiet'])).toEqual(['quiet'])
    expect(heldOf(lru, 3, ['third 0', 'third 1', 'third 2', 'third 3'])).toHaveLength(4)
    expect(heldOf(lru, 2, ['busy 994', 'busy 995', 'busy 999'])).toEqual(['busy 995', 'busy 999'])
  })

  test('does not happen when a value replaces an older value of the same key', () => {
    const lru = open(2)
    lru.set(1, 'a', value())
    lru.set(1, 'b', value())
    lru.set(1, 'b', value('newer'))
    expect(lru.get(1, 'a')).toBeDefined()
    expect(lru.get(1, 'b')).toEqual(value('newer'))
  })
})

describe('the fair cache', () => {
  const filled = () => {
    const lru = open(10)
    lru.set(1, 'a', value('user:1', 'department:1'))
    lru.set(1, 'b', value('department:1'))
    lru.set(1, 'c', value())
    lru.set(2, 'd', value('user:2'))
    return lru
  }

  test.each<[string, (lru: ReturnType<typeof open>) => void, string[], string[]]>([
    ['a key', (lru) => lru.drop('a'), ['b', 'c'], ['d']],
    ['a tenant', (lru) => lru.dropTenant(1), [], ['d']],
    ['a label', (lru) => lru.dropLabelled('department:1'), ['c'], ['d']],
    ['all values', (lru) => lru.clear(), [], []],
    ['an unknown key', (lru) => lru.drop('x'), ['a', 'b', 'c'], ['d']],
  ])('drops only the expected values when the caller drops %s', (_, drop, first, second) => {
    const lru = filled()
    drop(lru)
    expect(heldOf(lru, 1, ['a', 'b', 'c'])).toEqual(first)
    expect(heldOf(lru, 2, ['d'])).toEqual(second)
  })

  test('keeps a value that replaced the value with the dropped label', () => {
    const lru = filled()
    lru.set(1, 'a', value('user:3'))
    lru.dropLabelled('user:1')
    expect(lru.get(1, 'a')).toEqual(value('user:3'))
  })

  test('keeps the values of two tenants with the same key apart', () => {
    const lru = filled()
    expect(lru.get(2, 'a')).toBeUndefined()
    lru.set(2, 'a', value('user:2'))
    expect(lru.get(1, 'a')).toBeUndefined()
  })
})

describe('the byte limit of the cache', () => {
  const sized = (maxBytes: number) =>
    fairLru<string, { size: number }>({
      maxEntries: 100,
      maxBytes,
      bytesOf: ({ size }) => size,
      labelsOf: () => [],
    })

  test('applies to all tenants together, and the bytes of each tenant are counted', () => {
    const lru = sized(100)
    lru.set(1, 'a', { size: 40 })
    lru.set(2, 'b', { size: 40 })
    expect([lru.holding(1), lru.holding(3), lru.holding(null)]).toEqual([
      { entries: 1, bytes: 40 },
      { entries: 0, bytes: 0 },
      { entries: 2, bytes: 80 },
    ])
    lru.set(2, 'c', { size: 45 })
    expect(lru.holding(null).bytes).toBeLessThanOrEqual(100)
    lru.clear()
    expect(lru.holding(null)).toEqual({ entries: 0, bytes: 0 })
  })

  test('allows no value if it is 0', () => {
    const lru = fairLru<string, Value>({ maxEntries: 0, labelsOf: ({ labels }) => labels })
    lru.set(1, 'a', value())
    expect(lru.holding(null).entries).toBe(0)
  })

  test('evicts one large value before many small values of another tenant', () => {
    const lru = sized(1_000)
    for (let i = 0; i < 10; i++) lru.set(1, `small ${i}`, { size: 10 })
    lru.set(2, 'large', { size: 850 })
    lru.set(3, 'new', { size: 100 })
    expect([lru.holding(1).entries, lru.has(2, 'large'), lru.has(3, 'new')]).toEqual([
      10,
      false,
      true,
    ])
  })

  test('rejects a value that is too large, and evicts nothing for it', () => {
    const lru = sized(100)
    lru.set(1, 'a', { size: 100 })
    lru.set(1, 'b', { size: 101 })
    expect([lru.has(1, 'a'), lru.has(1, 'b')]).toEqual([true, false])
    lru.set(1, 'a', { size: 101 })
    expect(lru.holding(null)).toEqual({ entries: 0, bytes: 0 })
  })
})

describe('an expired value in the cache', () => {
  const clock = { at: 0 }
  const gone: unknown[] = []
  const timed = () => {
    clock.at = 0
    gone.length = 0
    const lru = fairLru<string, Value>({
      maxEntries: 3,
      labelsOf: ({ labels }) => labels,
      ttlMs: 100,
      now: () => clock.at,
      onGone: (...reported) => gone.push(reported),
    })
    lru.set(1, 'a', value())
    clock.at = 50
    lru.set(2, 'b', value())
    lru.get(1, 'a')
    return lru
  }

  test('is not returned, however often it was used before', () => {
    const lru = timed()
    clock.at = 99
    expect(lru.get(1, 'a')).toBeDefined()
    clock.at = 100
    expect([lru.has(1, 'a'), lru.get(1, 'a'), lru.has(2, 'b')]).toEqual([false, undefined, true])
    expect(gone).toEqual([[1, 'expirations']])
    expect(lru.holding(null).entries).toBe(1)
  })

  test.each<[string, number | null, number, unknown[]]>([
    ['a tenant', 1, 1, [[1, 'expirations']]],
    [
      'all',
      null,
      2,
      [
        [1, 'expirations'],
        [2, 'expirations'],
      ],
    ],
  ])('is dropped by `dropExpired` for %s', (_, tenant, dropped, reported) => {
    const lru = timed()
    clock.at = 149
    lru.set(1, 'c', value())
    clock.at = 150
    expect(lru.dropExpired(tenant)).toBe(dropped)
    expect(gone).toEqual(reported)
    expect(lru.has(1, 'c')).toBe(true)
  })

  test('is reported as evicted if it was removed to make room before it expired', () => {
    const lru = timed()
    for (const key of ['c', 'd']) lru.set(2, key, value())
    expect(gone).toEqual([[2, 'evictions']])
  })
})

test.each([1, 2, 3])(
  'the cache stays within its limit and evicts values fairly under random use (seed %i)',
  (seed) => {
    const { roll } = dice(seed)
    const max = 16
    const lru = open(max)
    const keys = new Map<number, string[]>([1, 2, 3, 4].map((tenant) => [tenant, []]))
    for (let step = 0; step < 3_000; step++) {
      const tenant = 1 + roll(4)
      const before = [...keys.values()].map(({ length }) => length)
      if (roll(10) === 0) lru.drop(`${tenant}.${roll(12)}`)
      else if (roll(40) === 0) lru.dropTenant(tenant)
      else lru.set(tenant, `${tenant}.${roll(tenant * 4)}`, value(`t${tenant}`))
      let total = 0
      for (const [id, known] of keys) {
        const all = Array.from({ length: 20 }, (_, i) => `${id}.${i}`)
        const now = heldOf(lru, id, all)
        const evicted = id !== tenant && now.length < known.length
        if (evicted) expect(2 * known.length).toBeGreaterThan(Math.max(...before))
        keys.set(id, now)
        total += now.length
      }
      expect(total).toBeLessThanOrEqual(max)
    }
  },
)
