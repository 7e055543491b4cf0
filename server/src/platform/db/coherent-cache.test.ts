/**
 * Checks the cache for random orders of reads, commits and notifications, against a model of a database and two nodes.
 * The tests of sessions cover the use of the cache for sessions.
 */
import { describe, expect, test } from 'vitest'
import { hearing } from '../../../test/support/change-notifications.ts'
import { dice } from '../../../test/support/seeded-random.ts'
import { type CoherentCacheOptions, coherentCache } from './coherent-cache.ts'
import type { Topic } from './topics.ts'

/** A version of a row, with the topic of the change that created it. */
interface Row {
  key: number
  version: number
  department: number | null
  change: number
  topic: string
}

const TENANTS = [1, 2]
const KEYS = [1, 2, 3, 4, 5, 6, 7, 8]
const DEPARTMENTS = [1, 2, 3]
const tenantOf = (key: number) => 1 + (key % 2)

/** The database: all versions of each row and the number of the latest change. */
function modelDatabase() {
  const history = new Map<number, Row[]>()
  let changes = 0
  for (const key of KEYS)
    history.set(key, [{ key, version: 0, department: null, change: 0, topic: '' }])
  const current = (key: number) => history.get(key)?.at(-1) as Row
  /** Commits a change of these rows, with the topic that notifies the nodes of it. */
  function commit(topic: string, keys: number[], department: (row: Row) => number | null) {
    changes += 1
    for (const key of keys) {
      const row = current(key)
      const next = { key, version: row.version + 1, department: department(row) }
      history.get(key)?.push({ ...next, change: changes, topic })
    }
    return { change: changes, topic: topic as Topic }
  }
  return { history, current, commit, last: () => changes }
}

type Told = ReturnType<ReturnType<typeof modelDatabase>['commit']>

/** A read. The test controls when it accesses the database and when its result arrives. */
interface Load {
  tenantId: number
  key: number
  seen?: { row: Row | undefined }
  answer(row: Row | undefined): void
}

function modelNode() {
  const heard = hearing()
  const loads: Load[] = []
  const load = (tenantId: number, key: number) =>
    new Promise<Row | undefined>((answer) => void loads.push({ tenantId, key, answer }))
  const cache = coherentCache<number, Row>(heard.changes, {
    maxEntries: 5,
    tenantKinds: ['tenant'],
    load,
    keyOf: ({ kind, number }) => (kind === 'row' ? number : undefined),
    labelKinds: ['department'],
    labelsOf: ({ department }) =>
      department === null ? [] : [`department:${department}` as Topic],
  })
  return {
    ...{ heard, loads, cache },
    async loadMany(tenantId: number, keys: readonly number[]) {
      const rows = await Promise.all(keys.map((key) => load(tenantId, key)))
      return new Map(rows.flatMap((row) => (row ? [[row.key, row] as const] : [])))
    },
    /** Notifications that have not arrived yet, from the node's own commits and from other nodes. */
    ...{ own: [] as Told[], others: [] as Told[] },
    ...{ isListening: true, hasHeard: new Set<number>() },
  }
}

type Node = ReturnType<typeof modelNode>

/** Fails if the node had received a newer change of the row before the lookup. */
function expectFresh(row: Row, versions: Row[], hasHeard: Set<number>) {
  const concerns = [`row:${row.key}`, `tenant:${tenantOf(row.key)}`, `department:${row.department}`]
  const missed = versions.filter(
    ({ version, change, topic }) =>
      version > row.version && hasHeard.has(change) && concerns.includes(topic),
  )
  expect(missed).toEqual([])
}

const seeds = Array.from({ length: 12 }, (_, i) => 20_261_100 + i)

test.each(seeds)(
  'the coherent cache returns no value that is older than the last change notification (seed %i)',
  async (seed) => {
    const { roll, pick } = dice(seed)
    const database = modelDatabase()
    const nodes = [modelNode(), modelNode()]
    const answers: Promise<void>[] = []
    const count = { held: 0, read: 0, shared: 0 }

    function commit(node: Node) {
      const key = pick(KEYS)
      const tenant = pick(TENANTS)
      const department = pick(DEPARTMENTS)
      const of = (isOne: (row: Row) => boolean) => KEYS.filter((id) => isOne(database.current(id)))
      const kinds = [
        () => database.commit(`row:${key}`, [key], () => pick([null, ...DEPARTMENTS])),
        () => database.commit(`row:${key}`, [key], (row) => row.department),
        () =>
          database.commit(
            `department:${department}`,
            of((row) => row.department === department),
            () => null,
          ),
        () =>
          database.commit(
            `tenant:${tenant}`,
            of((row) => tenantOf(row.key) === tenant),
            (row) => row.department,
          ),
      ]
      const reported = pick(kinds)()
      node.own.push(reported)
      for (const other of nodes)
        if (other !== node && other.isListening) other.others.push(reported)
    }

    function ask(node: Node, tenantId: number, key: number) {
      const before = node.loads.length
      const hasHeard = new Set(node.hasHeard)
      const answer = node.cache.get(tenantId, key)
      const check = (row: Row | undefined) => {
        if (tenantId !== tenantOf(key)) expect(row).toBeUndefined()
        else expectFresh(row as Row, database.history.get(key) as Row[], hasHeard)
      }
      if (answer instanceof Promise) {
        count[node.loads.length > before ? 'read' : 'shared'] += 1
        answers.push(answer.then(check))
      } else {
        count.held += 1
        expect(node.heard.trusted).toBe(true)
        check(answer)
      }
    }

    function warm(node: Node, tenantId: number) {
      const keys = [pick(KEYS), pick(KEYS), pick(KEYS)]
      const there = keys.filter((key) => tenantOf(key) === tenantId)
      const warmed = node.cache.warm(tenantId, keys, node.loadMany)
      answers.push(
        warmed.then((found) => expect([...found].sort()).toEqual([...new Set(there)].sort())),
      )
    }

    function hear(node: Node, reported: Told | undefined) {
      if (!reported) return
      node.hasHeard.add(reported.change)
      node.heard.changes.invalidate([reported.topic])
    }

    /** Lets a read see the current state of the database. The test calls this at any time after the read has begun. */
    function look(load: Load | undefined) {
      if (!load || load.seen) return
      const isThere = load.tenantId === tenantOf(load.key)
      load.seen = { row: isThere ? database.current(load.key) : undefined }
    }

    function answer(node: Node, at: number) {
      look(node.loads[at])
      const [load] = node.loads.splice(at, 1)
      load?.answer(load.seen?.row)
    }

    function listenOrNot(node: Node) {
      if (node.isListening) {
        node.isListening = false
        node.others.length = 0
      } else if (node.heard.trusted) {
        // The node notices the loss of its listener only after a delay.
        node.heard.trusted = false
      } else {
        node.heard.missed()
        for (let change = 1; change <= database.last(); change++) node.hasHeard.add(change)
        node.isListening = true
        node.heard.trusted = true
      }
    }

    for (let step = 0; step < 5_000; step++) {
      const node = pick(nodes)
      const key = pick(KEYS)
      const what = roll(100)
      if (what < 34) ask(node, tenantOf(key), key)
      else if (what < 37) ask(node, pick(TENANTS), key)
      else if (what < 38) warm(node, pick(TENANTS))
      else if (what < 45) commit(node)
      else if (what < 56) hear(node, node.own.shift())
      else if (what < 68) hear(node, node.others.shift())
      else if (what < 85) look(node.loads[roll(Math.max(1, node.loads.length))])
      else if (what < 99) answer(node, roll(Math.max(1, node.loads.length)))
      else listenOrNot(node)
      // Lets the result of a read arrive.
      for (let turn = 0; turn < 4; turn++) await undefined
    }

    // After all notifications and responses, the cache contains the current rows.
    for (const node of nodes) {
      while (!node.isListening || !node.heard.trusted) listenOrNot(node)
      for (const reported of [...node.own, ...node.others]) hear(node, reported)
      while (node.loads.length > 0) answer(node, 0)
    }
    await Promise.all(answers)
    const held = nodes.flatMap((node) =>
      KEYS.flatMap((key) => {
        const row = node.cache.get(tenantOf(key), key)
        return row instanceof Promise ? [] : [row]
      }),
    )
    expect(held).toEqual(held.map((row) => database.current((row as Row).key)))
    expect(Math.min(count.held, count.read, count.shared)).toBeGreaterThan(10)
  },
)

describe('the coherent cache', () => {
  const row = (key: number, fields: Partial<Row> = {}): Row => ({
    ...{ key, version: 0, department: null, change: 0, topic: '' },
    ...fields,
  })

  /** A cache whose loads complete immediately. */
  function opened(options: Partial<CoherentCacheOptions<number, Row>> = {}) {
    const heard = hearing()
    const asked: [number, ...number[]][] = []
    const clock = { at: 0 }
    const cache = coherentCache<number, Row>(heard.changes, {
      maxEntries: 3,
      ttlMs: 1_000,
      now: () => clock.at,
      async load(tenantId, key) {
        asked.push([tenantId, key])
        return key < 90 ? row(key) : undefined
      },
      keyOf: ({ kind, number }) => (kind === 'row' ? number : undefined),
      tenantKinds: ['tenant', 'keys'],
      labelKinds: [],
      labelsOf: () => [],
      ...options,
    })
    const loadMany = async (tenantId: number, keys: readonly number[]) => {
      asked.push([tenantId, ...keys])
      return new Map(keys.filter((key) => key < 90).map((key) => [key, row(key)]))
    }
    return { heard, asked, clock, cache, warm: (keys: number[]) => cache.warm(1, keys, loadMany) }
  }

  test('counts lookups and dropped values for each tenant and in total', async () => {
    const { cache, clock, heard } = opened()
    for (const key of [1, 1, 2, 3, 4]) await cache.get(1, key)
    await cache.get(2, 5)
    expect(cache.stats(1)).toEqual({
      ...{ entries: 2, bytes: 2, hits: 1, misses: 4 },
      ...{ evictions: 2, expirations: 0 },
    })
    clock.at = 1_000
    await cache.get(2, 5)
    expect(cache.stats(2)).toMatchObject({ entries: 1, hits: 0, misses: 2, expirations: 1 })
    heard.trusted = false
    await cache.get(2, 5)
    expect(cache.stats(2)).toMatchObject({ hits: 0, misses: 3 })
    expect(cache.stats(null)).toEqual({
      ...{ entries: 3, bytes: 3, hits: 1, misses: 7 },
      ...{ evictions: 2, expirations: 1 },
    })
    expect(cache.stats(3)).toMatchObject({ entries: 0, hits: 0, misses: 0 })
  })

  test('loads all missing keys of a warm-up together, except keys that are cached or loading', async () => {
    const { cache, asked, warm } = opened({ maxEntries: 10 })
    await cache.get(1, 1)
    const underWay = cache.get(1, 2)
    expect(await warm([1, 2, 3, 4, 95])).toEqual(new Set([1, 2, 3, 4]))
    await underWay
    expect(asked).toEqual([
      [1, 1],
      [1, 2],
      [1, 3, 4, 95],
    ])
    expect(cache.get(1, 4)).toEqual(row(4))
    expect(cache.stats(1)).toMatchObject({ hits: 1, misses: 2, entries: 4 })
  })

  test('drops the values of all tenants if a topic has no tenant number', async () => {
    const { cache, heard } = opened()
    await cache.get(1, 1)
    await cache.get(2, 2)
    heard.changes.invalidate(['keys'])
    expect(cache.stats(null).entries).toBe(0)
  })

  test('returns a value that must not be cached, and loads it again next time', async () => {
    const { cache, asked } = opened({ isKept: ({ key }) => key !== 1 })
    for (const key of [1, 1, 2, 2]) expect(await cache.get(1, key)).toEqual(row(key))
    expect(asked).toHaveLength(3)
  })

  test('reports no value as cached while notifications may be missed', async () => {
    const { cache, heard } = opened()
    await cache.get(1, 1)
    expect([1, 2, null].map((tenant) => cache.has(tenant, 1))).toEqual([true, false, true])
    heard.trusted = false
    expect(cache.has(1, 1)).toBe(false)
  })
})
