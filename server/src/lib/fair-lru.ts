/**
 * Values of many tenants within one bound. What was used least recently makes room, of a tenant that
 * holds the most: no tenant loses anything while another holds twice as much.
 */

export interface FairLruOptions<V> {
  /** The most values that are held. */
  max: number
  /** What else a value goes by (`dropLabelled`). */
  labelsOf(value: V): readonly string[]
}

export interface FairLru<K, V> {
  get(tenantId: number, key: K): V | undefined
  set(tenantId: number, key: K, value: V): void
  /** Drops the key of whichever tenant. */
  drop(key: K): void
  dropTenant(tenantId: number): void
  dropLabelled(label: string): void
  clear(): void
}

/** A value between its neighbours in the ring of its tenant, by when they were used last. */
interface Item<K, V> {
  key: K
  value: V
  shelf: Shelf<K, V>
  older: Item<K, V>
  newer: Item<K, V>
}

/** What one tenant holds. */
interface Shelf<K, V> {
  tenantId: number
  count: number
  newest: Item<K, V> | undefined
}

export function fairLru<K, V>({ max, labelsOf }: FairLruOptions<V>): FairLru<K, V> {
  const items = new Map<K, Item<K, V>>()
  const labelled = new Map<string, Set<Item<K, V>>>()
  const shelves = new Map<number, Shelf<K, V>>()
  /** The shelves by the length of their count in bits: a full one is found without asking them all. */
  const byLength: Set<Shelf<K, V>>[] = Array.from({ length: 33 }, () => new Set())

  function recount(shelf: Shelf<K, V>, by: 1 | -1): void {
    byLength[lengthOf(shelf.count)]?.delete(shelf)
    shelf.count += by
    if (shelf.count === 0) shelves.delete(shelf.tenantId)
    else byLength[lengthOf(shelf.count)]?.add(shelf)
  }

  function remove(item: Item<K, V>): void {
    items.delete(item.key)
    unlink(item)
    recount(item.shelf, -1)
    for (const label of labelsOf(item.value)) {
      const others = labelled.get(label)
      others?.delete(item)
      if (others?.size === 0) labelled.delete(label)
    }
  }

  function evict(): void {
    const [fullest] = byLength.findLast((some) => some.size > 0) ?? []
    if (fullest?.newest) remove(fullest.newest.newer)
  }

  function shelfOf(tenantId: number): Shelf<K, V> {
    const shelf = shelves.get(tenantId) ?? { tenantId, count: 0, newest: undefined }
    shelves.set(tenantId, shelf)
    return shelf
  }

  function drop(key: K): void {
    const item = items.get(key)
    if (item) remove(item)
  }

  return {
    get(tenantId, key) {
      const item = items.get(key)
      if (item?.shelf.tenantId !== tenantId) return undefined
      unlink(item)
      link(item)
      return item.value
    },
    set(tenantId, key, value) {
      drop(key)
      if (items.size >= max) evict()
      const item = single(key, value, shelfOf(tenantId))
      items.set(key, item)
      link(item)
      recount(item.shelf, 1)
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
    clear() {
      for (const item of items.values()) remove(item)
    },
  }
}

const lengthOf = (count: number): number => 32 - Math.clz32(count)

/** An item in no ring yet. */
function single<K, V>(key: K, value: V, shelf: Shelf<K, V>): Item<K, V> {
  const item = { key, value, shelf } as Item<K, V>
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
