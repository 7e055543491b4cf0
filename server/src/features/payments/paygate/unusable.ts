/** What of a provider's list of payments cannot be used: neither silent nor in the way of the rest. */
import type { Logger } from '../../../platform/observe/log.ts'
import type { Provider, Reason } from '../payment-facts.ts'
import { isObject } from '../provider-json.ts'
import { isApiStatus, isAskable } from './payment.ts'

/** An item of the list that changes nothing, though it should. */
export interface Unusable {
  item: unknown
  reason: Reason
}

export interface UnusableDeps {
  log: Logger
  /** Takes a notice in, as if the provider had sent it. */
  take: (notice: Buffer) => Promise<void>
}

/**
 * What of the list cannot be used goes to the inbox as if it had been notified of, so that operators see
 * it where they look and have it tried again, though later runs begin behind it.
 */
export function openUnusable(provider: Provider, { take, log }: UnusableDeps) {
  const counts: Partial<Record<Reason, number>> = {}
  let nameless = 0
  return {
    async note(page: readonly Unusable[]): Promise<void> {
      for (const { reason } of page) counts[reason] = (counts[reason] ?? 0) + 1
      const hints = page.flatMap((one) => hintOf(one) ?? [])
      nameless += page.length - hints.length
      await Promise.all(hints.map(take))
    },
    /** Says once what there was. Returns whether all of it is in the inbox. */
    end(): boolean {
      if (Object.keys(counts).length > 0)
        log.warn({ provider, counts }, 'payments of a list cannot be used')
      return nameless === 0
    },
  }
}

/**
 * The notice that says as much; undefined of what has no name to ask for. The reason, in place of the
 * status, keeps it apart from a true one of the same event, which may have been applied long ago.
 */
function hintOf({ item, reason: status }: Unusable): Buffer | undefined {
  if (!isObject(item) || !isAskable(item.id)) return undefined
  const { id } = item
  const event = `payment.${isApiStatus(item.status) ? item.status : 'pending'}`
  return Buffer.from(JSON.stringify({ type: 'notification', event, object: { id, status } }))
}
