/** What operators see of payments, and how they have a notification tried again. */
import { type Clock, isoAt } from '../../../lib/clock.ts'
import type { Cursor } from '../../../lib/cursor.ts'
import { type Page, toPage } from '../../../lib/page.ts'
import { orNotFound, Problem } from '../../../lib/problems.ts'
import type { Span } from '../../../lib/span.ts'
import type { Admin, Auditor, Superadmin } from '../../../platform/access/index.ts'
import {
  forCaller,
  inScope,
  listMode,
  problemOf,
  type Scopes,
  scopeOf,
  type TenantTx,
} from '../../../platform/db/index.ts'
import { type Action, actorOf, append, journalEntry } from '../../../platform/journal/index.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import { ofNamedTenant } from '../../tenants/index.ts'
import { openOrNull, type Seals, type Sent } from '../inbox/sealed.ts'
import { INBOX_TOPIC } from '../inbox/topics.ts'
import type { Provider, Reason } from '../payment-facts.ts'
import {
  type Discard,
  type Discarded,
  type NotificationQuery,
  type NotificationWithBody,
  notificationList,
  type Payment,
  type PaymentNotification,
  type PaymentQuery,
  type PaymentWithNotifications,
  paymentList,
} from '../payments.schema.ts'
import * as store from './records.store.ts'

/** What a query means: the time that it spans, and where its page begins. */
interface Looked {
  span: Span
  from: Cursor | undefined
}

/** Since when a notification is proven, ISO 8601, or why it can't be worked on as things are now. */
export type Prove = (notification: {
  sent: Sent
  received_at: string
  verified_at: string | null
}) => { verified_at: string | null } | { refused: Reason }

export interface RecordsDeps {
  db: Scopes
  clock: Clock
  seals: Seals
  log: Logger
  providers: { readonly [P in Provider]: { prove: Prove } }
}

export interface Records {
  listPayments(caller: Auditor, query: PaymentQuery, looked: Looked): Promise<Page<Payment>>
  payment(caller: Auditor, id: number): Promise<PaymentWithNotifications>
  listNotifications(
    caller: Auditor,
    query: NotificationQuery,
    looked: Looked,
  ): Promise<Page<PaymentNotification>>
  /** With its body, which is journaled as a read. */
  notification(caller: Admin, id: number): Promise<NotificationWithBody>
  /** Has it tried again now, or says why it cannot be. @throws Problem 409 where it is settled, or waits */
  process(caller: Admin, id: number): Promise<PaymentNotification>
  /** Deletes unverified notifications. Verified ones and those under way stay. */
  discard(caller: Superadmin, of: Discard): Promise<Discarded>
}

export function recordsService(deps: RecordsDeps): Records {
  const { db, seals } = deps
  return {
    async listPayments(caller, query, { span, from }) {
      const asked = { list: paymentList, caller, query, from }
      const list = ofNamedTenant(asked, (tx) => store.listPayments(tx, asked, span))
      const scope = scopeOf(caller, query.tenant_id)
      return toPage(asked, await inScope(db, scope, list, listMode(query)))
    },

    payment: (caller, id) =>
      forCaller(
        db,
        caller,
        async (tx) => {
          const payment = orNotFound(await store.findPayment(tx, id), 'payment')
          return { ...payment, notifications: await store.notificationsOf(tx, payment) }
        },
        'read',
      ),

    async listNotifications(caller, query, { span, from }) {
      const asked = { list: notificationList, caller, query, from }
      const list = (tx: TenantTx) => store.listNotifications(tx, asked, span)
      return toPage(asked, await inScope(db, scopeOf(caller), list, listMode(query)))
    },

    notification: (caller, id) =>
      forCaller(db, caller, async (tx) => {
        const shown = await found(tx, id)
        const kept = orNotFound(await store.findKept(tx, id, false), 'notification')
        const sent = await seals.open(tx, kept, kept)
        await note(tx, caller, 'payment_notification.read', shown)
        return { ...shown, body: sent.body.toString() }
      }),

    async process(caller, id) {
      const run = (takesKey: boolean) =>
        forCaller(db, caller, (tx) => process(deps, tx, caller, id, takesKey))
      try {
        return await run(true)
      } catch (error) {
        // Another of the same event holds the key: it took it meanwhile, or is not the caller's to see. So
        // this one goes on without it.
        if (problemOf(error)?.code !== 'conflict') throw error
        return run(false)
      }
    },

    discard: (caller, { provider }) =>
      db.acrossTenants(async (tx) => {
        const discarded = await store.discardUnverified(tx, provider)
        await append(tx, actorOf(caller), {
          action: 'payment_notification.discarded',
          tenant_id: caller.tenant_id,
          resource_type: 'payment_notification',
          resource_id: null,
          changes: { provider: provider ?? 'all', discarded },
        })
        // Health reports count what is left.
        tx.notify(INBOX_TOPIC)
        return { discarded }
      }),
  }
}

async function process(
  deps: RecordsDeps,
  tx: TenantTx,
  caller: Admin,
  id: number,
  takesKey: boolean,
): Promise<PaymentNotification> {
  await found(tx, id)
  await tryAgain(deps, tx, id, takesKey)
  const after = await found(tx, id)
  await note(tx, caller, 'payment_notification.processed', after)
  return after
}

/**
 * Has a notification worked on again now where it opens and its sender is proven, and otherwise notes why
 * it is not; one that would wait in vain has failed.
 * @param takesKey whether it is to hold the key of its event, where no other is seen to
 * @throws Problem 404, and 409 where it is settled, or is worked on by itself
 */
export async function tryAgain(
  deps: Pick<RecordsDeps, 'clock' | 'seals' | 'providers' | 'log'>,
  tx: TenantTx,
  id: number,
  takesKey = true,
): Promise<void> {
  const kept = orNotFound(await store.findKept(tx, id, true), 'notification')
  const isOpen = kept.state !== 'applied' && kept.state !== 'superseded' && kept.state !== 'ignored'
  if (!isOpen) throw new Problem('notification_settled')
  const sent = await openOrNull(deps, tx, kept)
  const proven = sent
    ? deps.providers[kept.provider].prove({ ...kept, sent })
    : ({ refused: 'does_not_open' } as const)
  const now = isoAt(deps.clock)
  if ('refused' in proven) return store.giveUp(tx, id, { now, reason: proven.refused })
  if (kept.state === 'received') throw new Problem('notification_settled')
  await store.arm(tx, id, { now, verified_at: proven.verified_at, takesKey })
  tx.notify(INBOX_TOPIC)
}

async function found(tx: TenantTx, id: number): Promise<PaymentNotification> {
  return orNotFound(await store.findNotification(tx, id), 'notification')
}

/** What no tenant is proven of is an entry of whoever looked. */
async function note(
  tx: TenantTx,
  caller: Admin,
  action: Extract<Action, `payment_notification.${string}`>,
  { id, tenant_id }: PaymentNotification,
): Promise<void> {
  const resource = { id, tenant_id: tenant_id ?? caller.tenant_id }
  await append(tx, actorOf(caller), journalEntry(action, 'payment_notification', resource))
}
