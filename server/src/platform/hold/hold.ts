/**
 * Pauses outgoing mails, webhooks and messages, and permanent deletion, on a restored copy until an operator releases
 * them, because the original service may still be running. Paused work is not started, so senders need no check.
 */
import { MINUTE } from '../../lib/clock.ts'
import type { Changes, Scopes, TenantTx } from '../db/index.ts'
import { append, SYSTEM } from '../journal/index.ts'
import type { Upkeep } from '../lifecycle/upkeep.ts'
import { canFail } from '../observe/can-fail.ts'
import type { Logger } from '../observe/log.ts'
import * as store from './hold.store.ts'

declare module '../db/topics.ts' {
  interface Topics {
    outbound: 'outbound'
  }
}

export interface OutboundHold {
  /** Returns when outgoing messages were paused (ISO 8601), or null if they are not paused. */
  since(): string | null
  /** Runs `begin` immediately. If outgoing messages are paused, runs it after the release. */
  whenReleased(begin: () => void): void
  /** Adds work to the release's transaction. Every process must call this, because any may run the release. */
  onRelease(work: (tx: TenantTx) => Promise<void>): void
  /** Ends the pause on every node. Returns false if outgoing messages were not paused. */
  release(): Promise<boolean>
  /** Checks periodically whether the pause has ended, in case the notification was missed. */
  readonly upkeep: Upkeep
  stop(): void
}

export async function openOutboundHold(
  db: Scopes,
  changes: Pick<Changes, 'subscribe'>,
  log: Logger,
): Promise<OutboundHold> {
  const waiting = new Set<() => void>()
  const releasing: ((tx: TenantTx) => Promise<void>)[] = []
  let since = await db.acrossTenants(store.findHeldSince, 'read')
  const what = 'check for the release of outgoing messages'
  const unsubscribe = changes.subscribe((topic) => {
    if (topic === 'outbound' || topic === null) void canFail(refresh(), what, log)
  })

  async function refresh(): Promise<void> {
    if (since === null) return
    const found = await db.acrossTenants(store.findHeldSince, 'read')
    // A release is final. A query that began before it must not undo it.
    if (since === null) return
    since = found
    if (since !== null) return
    const begun = [...waiting]
    waiting.clear()
    for (const begin of begun) begin()
  }

  return {
    since: () => since,
    whenReleased(begin) {
      if (since === null) begin()
      else waiting.add(begin)
    },
    onRelease: (work) => void releasing.push(work),
    release: () =>
      db.acrossTenants(async (tx) => {
        tx.invalidate('outbound')
        const since = await store.releaseHold(tx)
        if (since === null) return false
        for (const work of releasing) await work(tx)
        await append(tx, SYSTEM, {
          action: 'outbound.released',
          tenant_id: null,
          resource_type: 'installation',
          changes: { held_since: since },
        })
        return true
      }),
    upkeep: { what, everyMs: MINUTE, isNeededToServe: false, run: refresh },
    stop() {
      waiting.clear()
      unsubscribe()
    },
  }
}
