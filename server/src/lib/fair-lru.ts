/**
 * A cache for many tenants. Evicts the least recently used value of a tenant that uses the most bytes. A tenant never
 * loses a value while another tenant uses twice as much.
 */

export interface FairLruOptions<V> {
  /** The maximum number of cached values. 0 disables the cache. */
  maxEntries: number
  maxBytes?: number
  /** Returns the size of a value. The default is 1. */
  bytesOf?(value: V): number
  /** Returns the labels by which `dropLabelled` finds a value. */
  labelsOf(value: V): readonly string[]
  ttlMs?: number
  /** Milliseconds since the Unix epoch. */
  now?(): number
  /** Called for each value that was evicted or has expired. */
  onGone?(tenantId: number, why: 'evictions' | 'expirations'): void
}

export interface CacheUsage {
  entries: number
  bytes: number
}

export interface CachedValue<K, V> {
  tenantId: number
  key: K
  value: V
}

export interface FairLru<K, V> {
  get(tenantId: number, key: K): V | undefined
  /** Returns the value like `get`, but does not count as a use. */
  peek(tenantId: number, key: K): V | undefined
  /** Iterates over all values in the order of insertion. Values may be added and dropped during the iteration. */
  all(): Iterator<CachedValue<K, V>, void>
  /** Returns whether the tenant has the value, or any tenant if null. The call does not count as a use. */
  has(tenantId: number | null, key: K): boolean
  set(tenantId: number, key: K, value: V): void
  drop(key: K): void
  dropTenant(tenantId: number): void
  dropLabelled(label: string): void
  /** Drops the expired values of the tenant, or of all tenants if null. Returns their number. */
  dropExpired(tenantId: number | null): number
  clear(): void
  /** Returns how many values and bytes the tenant has cached, or all tenants if null. */
  holding(tenantId: number | null): CacheUsage
}

interface Item<K, V> {
  key: K
  value: V
  bytes: number
  expiresAt: number
  shelf: Shelf<K, V>
}

/** The values of one tenant, least recently used first. */
interface Shelf<K, V> {
  tenantId: number
  items: Set<Item<K, V>>
  bytes: number
}

/** The number of size classes, one for each power of two. No cache can use more than 2^53 bytes. */
const CLASSES = 54

export function fairLru<K, V>(options: FairLruOptions<V>): FairLru<K, V> {
  const { maxEntries, maxBytes = Number.POSITIVE_INFINITY, bytesOf = () => 1, labelsOf } = options
  const { ttlMs = Number.POSITIVE_INFINITY, now = () => 0, onGone } = options
  // A map keeps the order of insertion, which is also the order in which items expire.
  const items = new Map<K, Item<K, V>>()
  const labelled = new Map<string, Set<Item<K, V>>>()
  const shelves = new Map<number, Shelf<K, V>>()
  /** The shelves by the power of two of their bytes, to find the fullest one without comparing all. */
  const byClass: Set<Shelf<K, V>>[] = Array.from({ length: CLASSES }, () => new Set())
  let usedBytes = 0

  function recount(shelf: Shelf<K, V>, bytes: number): void {
    byClass[classOf(shelf)]?.delete(shelf)
    shelf.bytes += bytes
    usedBytes += bytes
    if (shelf.items.size === 0) shelves.delete(shelf.tenantId)
    else byClass[classOf(shelf)]?.add(shelf)
  }

  function remove(item: Item<K, V>): void {
    items.delete(item.key)
    item.shelf.items.delete(item)
    recount(item.shelf, -item.bytes)
    for (const label of labelsOf(item.value)) {
      const others = labelled.get(label)
      others?.delete(item)
      if (others?.size === 0) labelled.delete(label)
    }
  }

  function makeRoom(bytes: number): void {
    while (items.size >= maxEntries || usedBytes + bytes > maxBytes) {
      const [fullest] = byClass.findLast((some) => some.size > 0) ?? []
      const [oldest] = fullest?.items ?? []
      if (!oldest) return
      remove(oldest)
      onGone?.(oldest.shelf.tenantId, 'evictions')
    }
  }

  function shelfOf(tenantId: number): Shelf<K, V> {
    const shelf = shelves.get(tenantId) ?? { tenantId, items: new Set(), bytes: 0 }
    shelves.set(tenantId, shelf)
    return shelf
  }

  function expire(item: Item<K, V>): void {
    remove(item)
    onGone?.(item.shelf.tenantId, 'expirations')
  }

  const isExpired = (item: Item<K, V>) => item.expiresAt <= now()

  /** Finds the cached item for the key of the tenant, or of any tenant if null. */
  function find(tenantId: number | null, key: K): Item<K, V> | undefined {
    const item = items.get(key)
    return tenantId === null || item?.shelf.tenantId === tenantId ? item : undefined
  }

  function drop(key: K): void {
    const item = items.get(key)
    if (item) remove(item)
  }

  return {
    get(tenantId, key) {
      const item = find(tenantId, key)
      if (!item) return undefined
      if (isExpired(item)) return void expire(item)
      const { items } = item.shelf
      // Makes the item the most recently used one, because a set keeps the order of insertion.
      items.delete(item)
      items.add(item)
      return item.value
    },
    peek(tenantId, key) {
      const item = find(tenantId, key)
      return item && !isExpired(item) ? item.value : undefined
    },
    *all() {
      for (const item of items.values())
        if (!isExpired(item))
          yield { tenantId: item.shelf.tenantId, key: item.key, value: item.value }
    },
    has(tenantId, key) {
      const item = find(tenantId, key)
      return item !== undefined && !isExpired(item)
    },
    set(tenantId, key, value) {
      drop(key)
      const bytes = bytesOf(value)
      if (maxEntries === 0 || bytes > maxBytes) return
      makeRoom(bytes)
      const shelf = shelfOf(tenantId)
      const item = { key, value, bytes, expiresAt: now() + ttlMs, shelf }
      items.set(key, item)
      shelf.items.add(item)
      recount(shelf, bytes)
      for (const label of labelsOf(value)) {
        const others = labelled.get(label)
        if (others) others.add(item)
        else labelled.set(label, new Set([item]))
      }
    },
    drop,
    dropTenant(tenantId) {
      for (const item of shelves.get(tenantId)?.items ?? []) remove(item)
    },
    dropLabelled(label) {
      for (const item of labelled.get(label) ?? []) remove(item)
    },
    dropExpired(tenantId) {
      let dropped = 0
      for (const item of items.values()) {
        if (!isExpired(item)) break
        if (tenantId !== null && item.shelf.tenantId !== tenantId) continue
        expire(item)
        dropped += 1
      }
      return dropped
    },
    clear() {
      for (const item of items.values()) remove(item)
    },
    holding(tenantId) {
      if (tenantId === null) return { entries: items.size, bytes: usedBytes }
      const shelf = shelves.get(tenantId)
      return { entries: shelf?.items.size ?? 0, bytes: shelf?.bytes ?? 0 }
    },
  }
}

const classOf = ({ bytes }: { bytes: number }): number => Math.floor(Math.log2(Math.max(bytes, 1)))
