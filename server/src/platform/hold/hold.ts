/**
 * The hold on what goes out by itself. A database that was restored into an empty one may be a copy of one
 * that lives: mails, webhooks and messages wait until its operator says that they may go, and what destroys
 * for good by itself waits along. Neither is begun before, so that no message pays for the question.
 */
import { MINUTE } from '../../lib/clock.ts'
import type { Changes, Scopes, TenantTx } from '../db/index.ts'
import { append, SYSTEM } from '../journal/index.ts'
import { canFail } from '../observe/can-fail.ts'
import type { Logger } from '../observe/log.ts'
import type { Upkeep } from '../upkeep.ts'
import * as store from './hold.store.ts'

declare module '../db/topics.ts' {
  interface Topics {
    outbound: 'outbound'
  }
}

export interface OutboundHold {
  /** Since when nothing goes out, ISO 8601; null where it does. */
  since(): string | null
  /** Runs `begin` at once, or with the release. */
  whenReleased(begin: () => void): void
  /** Has the release do this too, in its transaction. Every process calls it, as any may release. */
  onRelease(work: (tx: TenantTx) => Promise<void>): void
  /** Lets everything go, on every node. Returns whether it was held. */
  release(): Promise<boolean>
  /** Looks for a release that was not heard of, as long as it is held. */
  readonly upkeep: Upkeep
  /** Begins nothing more. */
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
  const what = 'asking whether mails, webhooks and messages may go'
  const unsubscribe = changes.subscribe((topic) => {
    if (topic === 'outbound' || topic === null) void canFail(look(), what, log)
  })

  async function look(): Promise<void> {
    if (since === null) return
    const found = await db.acrossTenants(store.findHeldSince, 'read')
    // Released is for good: an answer from before tells nothing.
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
        const since = await store.release(tx)
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
    upkeep: { what, everyMs: MINUTE, isNeededToServe: false, run: look },
    stop() {
      waiting.clear()
      unsubscribe()
    },
  }
}
