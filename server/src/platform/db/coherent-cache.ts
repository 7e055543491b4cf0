/**
 * What a node holds in memory of the database, as true as what it has heard (decision 0023). What a
 * commit makes stale is dropped at once here and, by notification, on every other node; a load that a
 * change overtakes is answered to those who asked before it, and not kept; while changes may be missed
 * nothing is believed.
 */
import { type FairLruOptions, fairLru, type Held, type Holding } from '../../lib/fair-lru.ts'
import { flights } from '../../lib/flights.ts'
import type { Changes } from './changes.ts'
import type { Scope } from './scope.ts'
import { type ParsedTopic, parseTopic, type Topic } from './topics.ts'

/** What has become of questions and of values since the node's start. */
export interface CacheCounts {
  hits: number
  misses: number
  evictions: number
  expirations: number
}

export interface CoherentCache<K, V> {
  /** The tenant's value; undefined where there is none. A value, and no promise, where it is held. */
  get(tenantId: number, key: K): V | Promise<V | undefined>
  /**
   * Loads those of the tenant's keys that are not held, together and as no question of anybody's.
   * Returns which of all there are.
   */
  warm(tenantId: number, keys: readonly K[], load: LoadMany<K, V>): Promise<ReadonlySet<K>>
  /** Drops what has expired, of all tenants where that is null. Returns how many. */
  dropExpired(tenantId: Scope): number
  /** Whether the tenant's value is held, or any tenant's, and believed. */
  has(tenantId: Scope, key: K): boolean
  /** The value that is held, believed or not; asking counts as no question. */
  peek(tenantId: number, key: K): V | undefined
  /** All that is held; what comes and goes meanwhile is no trouble. */
  all(): Iterator<Held<K, V>, void>
  /** How it does for the tenant, or for all. */
  stats(tenantId: Scope): Holding & CacheCounts
}

/** Loads several values at once; those that are not there are left out. */
export type LoadMany<K, V> = (tenantId: number, keys: readonly K[]) => Promise<ReadonlyMap<K, V>>

export interface CoherentCacheOptions<K, V> extends Omit<FairLruOptions<V>, 'onGone'> {
  /** Reads what is committed. @returns undefined where there is nothing, which is not kept */
  load(tenantId: number, key: K): Promise<V | undefined>
  /** Whether a value is kept; all are by default. */
  isKept?(value: V): boolean
  /** The key that a topic names by itself; undefined for topics of another kind. */
  keyOf(topic: ParsedTopic): K | undefined
  /** The topics that a value goes by besides its key and its tenant's. */
  labelsOf(value: V): Topic[]
  /** The kinds of these topics. */
  labelKinds: readonly string[]
  /** The kinds of topics that name a tenant of which anything may have changed; all do without a number. */
  tenantKinds: readonly string[]
}

export function coherentCache<K extends string | number, V>(
  changes: Pick<Changes, 'subscribe' | 'trusted'>,
  options: CoherentCacheOptions<K, V>,
): CoherentCache<K, V> {
  const { load, isKept = () => true, keyOf, labelKinds, tenantKinds } = options
  const counts = new Map<number, CacheCounts>()
  const held = fairLru<K, V>({ ...options, onGone: count })
  // By tenant and key: nobody joins another tenant's.
  const loads = flights<string, V | undefined>()

  changes.subscribe((topic) => {
    if (topic === null) dropAll()
    else drop(topic)
  })

  function dropAll(): void {
    loads.voidIf(() => true)
    held.clear()
  }

  function drop(topic: Topic): void {
    const parsed = parseTopic(topic)
    const key = keyOf(parsed)
    if (key !== undefined) {
      loads.voidIf((flight) => flight.endsWith(`/${key}`))
      held.drop(key)
    } else if (tenantKinds.includes(parsed.kind)) {
      if (parsed.number === undefined) return void dropAll()
      loads.voidIf((flight) => flight.startsWith(`${parsed.number}/`))
      held.dropTenant(parsed.number)
    } else if (labelKinds.includes(parsed.kind)) {
      // Nobody knows yet what is being loaded.
      loads.voidIf(() => true)
      held.dropLabelled(topic)
    }
  }

  function count(tenantId: number, what: keyof CacheCounts): void {
    const counted = counts.get(tenantId)
    if (counted) counted[what] += 1
    else counts.set(tenantId, { ...NONE, [what]: 1 })
  }

  function join(tenantId: number, key: K, begin: () => Promise<V | undefined>) {
    return loads.join(`${tenantId}/${key}`, begin, (value) => {
      if (value !== undefined && isKept(value)) held.set(tenantId, key, value)
    })
  }

  return {
    get(tenantId, key) {
      const value = changes.trusted() ? held.get(tenantId, key) : undefined
      count(tenantId, value === undefined ? 'misses' : 'hits')
      if (value !== undefined) return value
      // What nobody may believe is not shared either.
      if (!changes.trusted()) return load(tenantId, key)
      return join(tenantId, key, () => load(tenantId, key))
    },
    async warm(tenantId, keys, loadMany) {
      const cold = keys.filter((key) => !held.has(tenantId, key))
      const needed: K[] = []
      let begun: ReturnType<typeof loadMany> | undefined
      // One load for all that nobody else is loading, once these are known.
      const one = (key: K) => async () => {
        needed.push(key)
        begun ??= Promise.resolve().then(() => loadMany(tenantId, needed))
        return (await begun).get(key)
      }
      const loaded = await Promise.all(cold.map((key) => join(tenantId, key, one(key))))
      const missing = new Set(cold.filter((_, at) => loaded[at] === undefined))
      return new Set(keys.filter((key) => !missing.has(key)))
    },
    dropExpired: held.dropExpired,
    peek: held.peek,
    all: held.all,
    has: (tenantId, key) => changes.trusted() && held.has(tenantId, key),
    stats(tenantId) {
      const counted = tenantId === null ? [...counts.values()] : [counts.get(tenantId) ?? NONE]
      return { ...held.holding(tenantId), ...counted.reduce(sumOf, NONE) }
    },
  }
}

const NONE: Readonly<CacheCounts> = { hits: 0, misses: 0, evictions: 0, expirations: 0 }

const sumOf = (one: CacheCounts, other: CacheCounts): CacheCounts => ({
  hits: one.hits + other.hits,
  misses: one.misses + other.misses,
  evictions: one.evictions + other.evictions,
  expirations: one.expirations + other.expirations,
})
