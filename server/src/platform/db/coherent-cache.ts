/**
 * What a node holds in memory of the database, as true as what it has heard. What a commit makes stale
 * is dropped at once here and, by notification, on every other node; a load that a change overtakes is
 * answered to those who asked before it, and not kept; while changes may be missed nothing is believed.
 */
import { type FairLruOptions, fairLru } from '../../lib/fair-lru.ts'
import { flights } from '../../lib/flights.ts'
import type { Changes } from './changes.ts'
import { type ParsedTopic, parseTopic, type Topic } from './topics.ts'

export interface CoherentCache<K, V> {
  /** The tenant's value; undefined where there is none. A value, and no promise, where it is held. */
  get(tenantId: number, key: K): V | Promise<V | undefined>
}

export interface CoherentCacheOptions<K, V> extends FairLruOptions<V> {
  /** Reads what is committed. @returns undefined where there is nothing, which is not kept */
  load(tenantId: number, key: K): Promise<V | undefined>
  /** The key that a topic names by itself; undefined for topics of another kind. */
  keyOf(topic: ParsedTopic): K | undefined
  /** The topics that a value goes by besides its key and its tenant's. */
  labelsOf(value: V): Topic[]
  /** The kinds of these topics. */
  labelKinds: readonly string[]
}

export function coherentCache<K extends string | number, V>(
  changes: Pick<Changes, 'subscribe' | 'trusted'>,
  options: CoherentCacheOptions<K, V>,
): CoherentCache<K, V> {
  const { load, keyOf, labelKinds } = options
  const held = fairLru<K, V>(options)
  // By tenant and key: nobody joins another tenant's.
  const loads = flights<string, V | undefined>()

  changes.subscribe((topic) => {
    if (topic !== null) return drop(topic)
    loads.voidIf(() => true)
    held.clear()
  })

  function drop(topic: Topic): void {
    const parsed = parseTopic(topic)
    const key = keyOf(parsed)
    if (key !== undefined) {
      loads.voidIf((flight) => flight.endsWith(`/${key}`))
      held.drop(key)
    } else if (parsed.kind === 'tenant' && parsed.number !== undefined) {
      loads.voidIf((flight) => flight.startsWith(`${parsed.number}/`))
      held.dropTenant(parsed.number)
    } else if (labelKinds.includes(parsed.kind)) {
      // Nobody knows yet what is being loaded.
      loads.voidIf(() => true)
      held.dropLabelled(topic)
    }
  }

  return {
    get(tenantId, key) {
      if (!changes.trusted()) return load(tenantId, key)
      return (
        held.get(tenantId, key) ??
        loads.join(
          `${tenantId}/${key}`,
          () => load(tenantId, key),
          (value) => value !== undefined && held.set(tenantId, key, value),
        )
      )
    },
  }
}
