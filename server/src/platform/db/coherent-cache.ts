/**
 * Caches database values without serving outdated ones (decision 0023). A commit drops them on this node, and by
 * notification on others. Values that change during their load are returned but not stored. The cache is not used while
 * notifications may be missed.
 */
import {
  type CachedValue,
  type CacheUsage,
  type FairLruOptions,
  fairLru,
} from '../../lib/fair-lru.ts'
import { flights } from '../../lib/shared-loads.ts'
import type { Changes } from './changes.ts'
import type { Scope } from './scope.ts'
import { type ParsedTopic, parseTopic, type Topic } from './topics.ts'

/** Counts of lookups and dropped values since the node started. */
export interface CacheCounts {
  hits: number
  misses: number
  evictions: number
  expirations: number
}

export interface CoherentCache<K, V> {
  /** Returns the tenant's value, or undefined. Returns a cached value directly, and otherwise a promise. */
  get(tenantId: number, key: K): V | Promise<V | undefined>
  /**
   * Loads all keys that are not cached with a single load, which counts neither as hit nor as miss. Returns existing
   * keys.
   */
  warm(tenantId: number, keys: readonly K[], load: LoadMany<K, V>): Promise<ReadonlySet<K>>
  /** Drops the expired values of one tenant, or of all tenants if null. Returns the number of dropped values. */
  dropExpired(tenantId: Scope): number
  /** Returns whether a trusted value is cached for the tenant, or for any tenant if null. */
  has(tenantId: Scope, key: K): boolean
  /** Returns the cached value, even if it is not trusted. The lookup is not counted. */
  peek(tenantId: number, key: K): V | undefined
  /** Iterates over all cached values. Changes during the iteration are allowed. */
  all(): Iterator<CachedValue<K, V>, void>
  /** Returns usage and counts for one tenant, or for all tenants if null. */
  stats(tenantId: Scope): CacheUsage & CacheCounts
}

export type LoadMany<K, V> = (tenantId: number, keys: readonly K[]) => Promise<ReadonlyMap<K, V>>

export interface CoherentCacheOptions<K, V> extends Omit<FairLruOptions<V>, 'onGone'> {
  /** Reads the committed value. @returns undefined if there is no value. The cache does not store undefined. */
  load(tenantId: number, key: K): Promise<V | undefined>
  /** Returns whether to cache a value. By default, all values are cached. */
  isKept?(value: V): boolean
  /** Returns the key that a topic names, or undefined for topics of another kind. */
  keyOf(topic: ParsedTopic): K | undefined
  /** Returns further topics that invalidate a value, in addition to those of its key and its tenant. */
  labelsOf(value: V): Topic[]
  /** The kinds of the topics that `labelsOf` returns. */
  labelKinds: readonly string[]
  /** The kinds of topics that invalidate all values of a tenant, or of all tenants if the topic has no number. */
  tenantKinds: readonly string[]
}

export function coherentCache<K extends string | number, V>(
  changes: Pick<Changes, 'subscribe' | 'trusted'>,
  options: CoherentCacheOptions<K, V>,
): CoherentCache<K, V> {
  const { load, isKept = () => true, keyOf, labelKinds, tenantKinds } = options
  const counts = new Map<number, CacheCounts>()
  const values = fairLru<K, V>({ ...options, onGone: count })
  // The key contains the tenant, so a tenant never shares the load of another tenant.
  const loads = flights<string, V | undefined>()

  changes.subscribe((topic) => {
    if (topic === null) dropAll()
    else drop(topic)
  })

  function dropAll(): void {
    loads.voidIf(() => true)
    values.clear()
  }

  function drop(topic: Topic): void {
    const parsed = parseTopic(topic)
    const key = keyOf(parsed)
    if (key !== undefined) {
      loads.voidIf((flight) => flight.endsWith(`/${key}`))
      values.drop(key)
    } else if (tenantKinds.includes(parsed.kind)) {
      if (parsed.number === undefined) return void dropAll()
      loads.voidIf((flight) => flight.startsWith(`${parsed.number}/`))
      values.dropTenant(parsed.number)
    } else if (labelKinds.includes(parsed.kind)) {
      // Discards all running loads, because the labels of their values are not known yet.
      loads.voidIf(() => true)
      values.dropLabelled(topic)
    }
  }

  function count(tenantId: number, what: keyof CacheCounts): void {
    const counted = counts.get(tenantId)
    if (counted) counted[what] += 1
    else counts.set(tenantId, { ...NONE, [what]: 1 })
  }

  function join(tenantId: number, key: K, begin: () => Promise<V | undefined>) {
    return loads.join(`${tenantId}/${key}`, begin, (value) => {
      if (value !== undefined && isKept(value)) values.set(tenantId, key, value)
    })
  }

  return {
    get(tenantId, key) {
      const value = changes.trusted() ? values.get(tenantId, key) : undefined
      count(tenantId, value === undefined ? 'misses' : 'hits')
      if (value !== undefined) return value
      // While the cache is not trusted, callers do not share loads either.
      if (!changes.trusted()) return load(tenantId, key)
      return join(tenantId, key, () => load(tenantId, key))
    },
    async warm(tenantId, keys, loadMany) {
      const cold = keys.filter((key) => !values.has(tenantId, key))
      const needed: K[] = []
      let begun: ReturnType<typeof loadMany> | undefined
      // Collects the keys that no other caller is loading, and then loads them together.
      const one = (key: K) => async () => {
        needed.push(key)
        begun ??= Promise.resolve().then(() => loadMany(tenantId, needed))
        return (await begun).get(key)
      }
      const loaded = await Promise.all(cold.map((key) => join(tenantId, key, one(key))))
      const missing = new Set(cold.filter((_, at) => loaded[at] === undefined))
      return new Set(keys.filter((key) => !missing.has(key)))
    },
    dropExpired: values.dropExpired,
    peek: values.peek,
    all: values.all,
    has: (tenantId, key) => changes.trusted() && values.has(tenantId, key),
    stats(tenantId) {
      const counted = tenantId === null ? [...counts.values()] : [counts.get(tenantId) ?? NONE]
      return { ...values.holding(tenantId), ...counted.reduce(sumOf, NONE) }
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
