/** Records payments from a provider's list that cannot be applied. The other payments of the list are not blocked. */
import type { Logger } from '../../../platform/observe/log.ts'
import type { Provider, UnusableReason } from '../payment-facts.ts'
import { isObject } from '../provider-json.ts'
import { isApiStatus, isAskable } from './payment.ts'

/** An item of the list that should change a payment but cannot be applied. */
export interface Unusable {
  item: unknown
  reason: UnusableReason
}

export interface UnusableDeps {
  log: Logger
  /** Stores a notice in the inbox as if the provider had sent it. */
  take: (notice: Buffer) => Promise<void>
}

/**
 * Creates a recorder for unusable items of the provider's payment list. It stores each item in the inbox as if the
 * provider had sent a notice about it, so operators can see and retry it. Items without a usable id are only counted
 * and logged.
 */
export function openUnusable(provider: Provider, { take, log }: UnusableDeps) {
  const counts: Partial<Record<UnusableReason, number>> = {}
  let nameless = 0
  return {
    async note(page: readonly Unusable[]): Promise<void> {
      for (const { reason } of page) counts[reason] = (counts[reason] ?? 0) + 1
      const hints = page.flatMap((one) => hintOf(one) ?? [])
      nameless += page.length - hints.length
      await Promise.all(hints.map(take))
    },
    /** Logs the number of unusable items by reason. Returns whether all of them are in the inbox. */
    end(): boolean {
      if (Object.keys(counts).length > 0)
        log.warn({ provider, counts }, 'payments in a provider list are not usable')
      return nameless === 0
    },
  }
}

/**
 * Returns a notice equivalent to the item, or undefined for an item without a usable id. In its key, the reason
 * replaces the status. The key must differ from that of a real notice of the same event, which may have been applied
 * long ago.
 */
function hintOf({ item, reason: status }: Unusable): Buffer | undefined {
  if (!isObject(item) || !isAskable(item.id)) return undefined
  const { id } = item
  const event = `payment.${isApiStatus(item.status) ? item.status : 'pending'}`
  return Buffer.from(JSON.stringify({ type: 'notification', event, object: { id, status } }))
}
