/** The payments and notifications that operators see, and manual retries of notifications. */
import { type Clock, isoAt } from '../../../lib/clock.ts'
import type { Cursor } from '../../../lib/cursor.ts'
import { type Page, toPage } from '../../../lib/page.ts'
import { orNotFound, Problem } from '../../../lib/problems.ts'
import type { Span } from '../../../lib/span.ts'
import {
  type Admin,
  type Auditor,
  requireOwnTenant,
  type Superadmin,
} from '../../../platform/access/index.ts'
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
import { openOrNull, type Seals, type SentNotification } from '../inbox/sealed.ts'
import { PROVIDERS, type Provider, type UnusableReason } from '../payment-facts.ts'
import {
  type Discard,
  type Discarded,
  type NotificationQuery,
  type NotificationWithBody,
  notificationList,
  type Payment,
  type PaymentNotification,
  type PaymentQuery,
  type PaymentStats,
  type PaymentStatsQuery,
  type PaymentWithNotifications,
  paymentList,
} from '../payments.schema.ts'
import { INBOX_TOPIC } from '../payments.table.ts'
import * as store from './records.store.ts'
import { readStats } from './stats.ts'

interface PageSpan {
  span: Span
  from: Cursor | undefined
}

/** Returns when a notification was verified (ISO 8601, null if not yet), or why it cannot be processed now. */
export type VerifyNotification = (notification: {
  sent: SentNotification
  received_at: string
  verified_at: string | null
}) => { verified_at: string | null } | { refused: UnusableReason }

export interface PaymentRecordsDeps {
  db: Scopes
  clock: Clock
  seals: Seals
  log: Logger
  providers: { readonly [P in Provider]: { isConfigured: boolean; verify: VerifyNotification } }
}

export interface PaymentRecords {
  listPayments(caller: Auditor, query: PaymentQuery, page: PageSpan): Promise<Page<Payment>>
  /** Counts payments by tenant and provider, and lists the configured providers. @throws Problem 403 for another tenant */
  stats(caller: Auditor, query: PaymentStatsQuery, span: Span): Promise<PaymentStats>
  payment(caller: Auditor, id: number): Promise<PaymentWithNotifications>
  listNotifications(
    caller: Auditor,
    query: NotificationQuery,
    page: PageSpan,
  ): Promise<Page<PaymentNotification>>
  /** Returns a notification with its body, and records the access in the journal. */
  notification(caller: Admin, id: number): Promise<NotificationWithBody>
  /** Retries a notification, or records why that is impossible. @throws Problem 409 if it is settled or waiting */
  process(caller: Admin, id: number): Promise<PaymentNotification>
  /** Deletes unverified notifications. Does not delete verified notifications or those being processed. */
  discard(caller: Superadmin, of: Discard): Promise<Discarded>
}

export function paymentRecordsService(deps: PaymentRecordsDeps): PaymentRecords {
  const { db, seals } = deps
  const configured = PROVIDERS.map((provider) => ({
    provider,
    is_configured: deps.providers[provider].isConfigured,
  }))
  return {
    async listPayments(caller, query, { span, from }) {
      const asked = { list: paymentList, caller, query, from }
      const list = ofNamedTenant(asked, (tx) => store.listPayments(tx, asked, span))
      const scope = scopeOf(caller, query.tenant_id)
      return toPage(asked, await inScope(db, scope, list, listMode(query)))
    },

    async stats(caller, { tenant_id }, span) {
      requireOwnTenant(caller, tenant_id)
      const scope = scopeOf(caller, tenant_id)
      const figures = await inScope(
        db,
        scope,
        (tx) => readStats(tx, deps.clock, span),
        'filtered list',
      )
      return { ...figures, providers: configured }
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
      const list = ofNamedTenant(asked, (tx) => store.listNotifications(tx, asked, span))
      const scope = scopeOf(caller, query.tenant_id)
      return toPage(asked, await inScope(db, scope, list, listMode(query)))
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
        // Another notification, which the caller may not see, holds the key. The retry proceeds without the key.
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
        // Makes the health check count the notifications again.
        tx.notify(INBOX_TOPIC)
        return { discarded }
      }),
  }
}

async function process(
  deps: PaymentRecordsDeps,
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
 * Retries a notification if it can be decrypted and its sender is verified. Otherwise records the reason, and marks the
 * notification as failed if it was waiting.
 * @param takesKey whether the notification takes the key of its event if no visible notification holds the key
 * @throws Problem 404 if the notification does not exist, 409 if it is settled or already waiting to be processed
 */
async function tryAgain(
  deps: PaymentRecordsDeps,
  tx: TenantTx,
  id: number,
  takesKey: boolean,
): Promise<void> {
  const kept = orNotFound(await store.findKept(tx, id, true), 'notification')
  const isOpen = kept.state !== 'applied' && kept.state !== 'superseded' && kept.state !== 'ignored'
  if (!isOpen) throw new Problem('notification_settled')
  const sent = await openOrNull(deps, tx, kept)
  const verdict = sent
    ? deps.providers[kept.provider].verify({ ...kept, sent })
    : ({ refused: 'does_not_open' } as const)
  const now = isoAt(deps.clock)
  if ('refused' in verdict)
    return store.giveUpNotification(tx, id, { now, reason: verdict.refused })
  if (kept.state === 'received') throw new Problem('notification_settled')
  await store.retryNotification(tx, id, { now, verified_at: verdict.verified_at, takesKey })
  tx.notify(INBOX_TOPIC)
}

async function found(tx: TenantTx, id: number): Promise<PaymentNotification> {
  return orNotFound(await store.findNotification(tx, id), 'notification')
}

/** Appends a journal entry. If the notification has no verified tenant, the entry belongs to the caller's tenant. */
async function note(
  tx: TenantTx,
  caller: Admin,
  action: Extract<Action, `payment_notification.${string}`>,
  { id, tenant_id }: PaymentNotification,
): Promise<void> {
  const resource = { id, tenant_id: tenant_id ?? caller.tenant_id }
  await append(tx, actorOf(caller), journalEntry(action, 'payment_notification', resource))
}
