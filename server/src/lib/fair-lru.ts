/**
 * Values of many tenants within bounds. What was used least recently makes room, of a tenant that holds
 * the most bytes: no tenant loses anything while another holds twice as much.
 */

export interface FairLruOptions<V> {
  /** The most values that are held; 0 for none. */
  maxEntries: number
  /** The most bytes that they are. */
  maxBytes?: number
  /** What it takes to hold a value; 1 by default. */
  bytesOf?(value: V): number
  /** What else a value goes by (`dropLabelled`). */
  labelsOf(value: V): readonly string[]
  /** Milliseconds for which a value is held at most. */
  ttlMs?: number
  /** Milliseconds since the Unix epoch. */
  now?(): number
  /** Told of a value that had to go by itself. */
  onGone?(tenantId: number, why: 'evictions' | 'expirations'): void
}

export interface Holding {
  entries: number
  bytes: number
}

/** A value with whose it is and what it goes by. */
export interface Held<K, V> {
  tenantId: number
  key: K
  value: V
}

export interface FairLru<K, V> {
  get(tenantId: number, key: K): V | undefined
  /** As `get`; asking counts as no use. */
  peek(tenantId: number, key: K): V | undefined
  /** All that is held, the first that came first; what comes and goes meanwhile is no trouble. */
  all(): Iterator<Held<K, V>, void>
  /** Whether it is held by the tenant, or by any where that is null; asking counts as no use. */
  has(tenantId: number | null, key: K): boolean
  set(tenantId: number, key: K, value: V): void
  /** Drops the key of whichever tenant. */
  drop(key: K): void
  dropTenant(tenantId: number): void
  dropLabelled(label: string): void
  /** Drops what has expired, of all tenants where that is null. Returns how many. */
  dropExpired(tenantId: number | null): number
  clear(): void
  /** What is held, by all tenants where that is null. */
  holding(tenantId: number | null): Holding
}

/** A value between its neighbours in the ring of its tenant, by when they were used last. */
interface Item<K, V> {
  key: K
  value: V
  bytes: number
  /** Milliseconds since the Unix epoch. */
  expiresAt: number
  shelf: Shelf<K, V>
  older: Item<K, V>
  newer: Item<K, V>
}

/** What one tenant holds. */
interface Shelf<K, V> extends Holding {
  tenantId: number
  newest: Item<K, V> | undefined
}

const NOTHING: Readonly<Holding> = { entries: 0, bytes: 0 }
/** 2^53 bytes are more than there can be. */
const CLASSES = 54

export function fairLru<K, V>(options: FairLruOptions<V>): FairLru<K, V> {
  const { maxEntries, maxBytes = Number.POSITIVE_INFINITY, bytesOf = () => 1, labelsOf } = options
  const { ttlMs = Number.POSITIVE_INFINITY, now = () => 0, onGone } = options
  // In the order in which they came, and so in that in which they expire.
  const items = new Map<K, Item<K, V>>()
  const labelled = new Map<string, Set<Item<K, V>>>()
  const shelves = new Map<number, Shelf<K, V>>()
  /** The shelves by the power of two of their bytes: a full one is found without asking them all. */
  const byClass: Set<Shelf<K, V>>[] = Array.from({ length: CLASSES }, () => new Set())
  let bytesHeld = 0

  function recount(shelf: Shelf<K, V>, entries: 1 | -1, bytes: number): void {
    byClass[classOf(shelf)]?.delete(shelf)
    shelf.entries += entries
    shelf.bytes += bytes
    bytesHeld += bytes
    if (shelf.entries === 0) shelves.delete(shelf.tenantId)
    else byClass[classOf(shelf)]?.add(shelf)
  }

  function remove(item: Item<K, V>): void {
    items.delete(item.key)
    unlink(item)
    recount(item.shelf, -1, -item.bytes)
    for (const label of labelsOf(item.value)) {
      const others = labelled.get(label)
      others?.delete(item)
      if (others?.size === 0) labelled.delete(label)
    }
  }

  function makeRoom(bytes: number): void {
    while (items.size >= maxEntries || bytesHeld + bytes > maxBytes) {
      const [fullest] = byClass.findLast((some) => some.size > 0) ?? []
      if (!fullest?.newest) return
      remove(fullest.newest.newer)
      onGone?.(fullest.tenantId, 'evictions')
    }
  }

  function shelfOf(tenantId: number): Shelf<K, V> {
    const shelf = shelves.get(tenantId) ?? { tenantId, ...NOTHING, newest: undefined }
    shelves.set(tenantId, shelf)
    return shelf
  }

  function expire(item: Item<K, V>): void {
    remove(item)
    onGone?.(item.shelf.tenantId, 'expirations')
  }

  const isExpired = (item: Item<K, V>) => item.expiresAt <= now()

  /** The tenant's own alone; whose ever where that is null. */
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
      unlink(item)
      link(item)
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
      const item = itemOf({ key, value, bytes, expiresAt: now() + ttlMs, shelf: shelfOf(tenantId) })
      items.set(key, item)
      link(item)
      recount(item.shelf, 1, bytes)
      for (const label of labelsOf(value)) {
        const others = labelled.get(label)
        if (others) others.add(item)
        else labelled.set(label, new Set([item]))
      }
    },
    drop,
    dropTenant(tenantId) {
      const shelf = shelves.get(tenantId)
      while (shelf?.newest) remove(shelf.newest)
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
      if (tenantId === null) return { entries: items.size, bytes: bytesHeld }
      const { entries, bytes } = shelves.get(tenantId) ?? NOTHING
      return { entries, bytes }
    },
  }
}

const classOf = ({ bytes }: Holding): number => Math.floor(Math.log2(Math.max(bytes, 1)))

/** An item in no ring yet. */
function itemOf<K, V>(fields: Omit<Item<K, V>, 'older' | 'newer'>): Item<K, V> {
  const item = fields as Item<K, V>
  item.older = item
  item.newer = item
  return item
}

/** Makes it the newest of its shelf; beside that stands the oldest, as the ring closes there. */
function link<K, V>(item: Item<K, V>): void {
  const { newest } = item.shelf
  if (newest) {
    item.older = newest
    item.newer = newest.newer
    newest.newer.older = item
    newest.newer = item
  }
  item.shelf.newest = item
}

function unlink<K, V>(item: Item<K, V>): void {
  const { shelf, older, newer } = item
  if (shelf.newest === item) shelf.newest = older === item ? undefined : older
  older.newer = newer
  newer.older = older
  item.older = item
  item.newer = item
}
