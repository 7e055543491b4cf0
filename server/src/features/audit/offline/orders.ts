/** Compares erased and removed entries with their orders, which are entries of the same log. */
import { readOrigin } from './origin.ts'

/** The first and the last index of consecutive leaves. */
export type LeafSpan = [first: number, last: number]

/** Adds an index after all others to spans. */
export function addToSpans(spans: LeafSpan[], index: number): void {
  const last = spans.at(-1)
  if (last && last[1] + 1 === index) last[1] = index
  else spans.push([index, index])
}

/** Leaves that an order names. They are in the log of this epoch. */
export interface Order {
  epoch: number
  first: number
  last: number
}

/** The orders of one kind that the logs verified so far contain. Logs of later epochs come first. */
export interface Orders {
  /** Adds the orders of an entry in a log. */
  add(origin: string, orders: readonly Order[]): void
  /** Yields the indexes in `spans` that no order names. @param spans in ascending order */
  unordered(origin: string, spans: readonly LeafSpan[]): Generator<number>
}

export function openOrders(): Orders {
  const byTenant = new Map<string, Order[]>()
  const keyOf = (origin: string) => {
    const { name, tenant_id } = readOrigin(origin)
    return `${name}/${tenant_id}`
  }
  return {
    add(origin, orders) {
      const known = byTenant.get(keyOf(origin)) ?? []
      for (const order of orders) known.push(order)
      byTenant.set(keyOf(origin), known)
    },
    *unordered(origin, spans) {
      const { epoch } = readOrigin(origin)
      const orders = (byTenant.get(keyOf(origin)) ?? [])
        .filter((order) => order.epoch === epoch)
        .sort((a, b) => a.first - b.first)
      let at = 0
      /** The index after those that the orders up to `at` name without a gap. */
      let covered = 0
      for (const [first, last] of spans)
        for (let index = first; index <= last; index += 1) {
          for (let order = orders[at]; order && order.first <= index; order = orders[at]) {
            covered = Math.max(covered, order.last + 1)
            at += 1
          }
          if (index >= covered) yield index
        }
    },
  }
}
