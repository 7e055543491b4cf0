/** Manages webhook registrations. Each command runs in one transaction and appends one journal entry. */
import { type Clock, isoAt } from '../../../lib/clock.ts'
import { orNotFound, Problem, type Refuse } from '../../../lib/problems.ts'
import type { Admin } from '../../../platform/access/index.ts'
import type { Scopes, TenantTx } from '../../../platform/db/index.ts'
import {
  type Actor,
  actorOf,
  append,
  changesBetween,
  journalEntry,
  SYSTEM,
} from '../../../platform/journal/index.ts'
import type { TargetPolicy } from '../../../platform/net/index.ts'
import { insertQueue, resetCircuit } from '../engine/queues.store.ts'
import { notifyDue } from '../engine/topics.ts'
import { newWebhookSecret } from '../sending/signature.ts'
import type { NewWebhook, RegisteredWebhook, Webhook, WebhookChange } from '../webhooks.schema.ts'
import { refineInput, shownUrl } from './input.ts'
import * as store from './registrations.store.ts'
import type { Secrets } from './secrets.ts'

/** The maximum number of webhooks per tenant (decisions §5). */
const MAX_WEBHOOKS = 50

export interface RegistrationsDeps {
  db: Scopes
  clock: Clock
  secrets: Secrets
  policy: TargetPolicy
  /** Queues a job that deletes a webhook's deliveries. The job starts after the transaction has committed. */
  deleteDeliveries(tx: TenantTx, webhook: { id: number; tenant_id: number }): Promise<void>
  /** Queues a job that retries the webhook's pending deliveries. `webhook.at` is the current time (ISO 8601). */
  retryNow(tx: TenantTx, webhook: { id: number; tenant_id: number; at: string }): Promise<void>
}

export type Enable = (tx: TenantTx, webhook: Webhook) => Promise<void>

export interface WebhookRegistrations {
  /** Rejects invalid input that a schema cannot detect. Returns the URL to store. */
  refine(input: Partial<NewWebhook>, refuse: Refuse): { url?: string }
  list(caller: Admin): Promise<Webhook[]>
  /**
   * Registers a webhook. Returns its secret only if the service generated it.
   * @throws Problem 409 over the tenant's limit
   */
  register(caller: Admin, webhook: NewWebhook): Promise<RegisteredWebhook>
  update(caller: Admin, id: number, change: WebhookChange): Promise<Webhook>
  delete(caller: Admin, id: number): Promise<void>
  /** Activates a webhook that the caller has locked, on behalf of the service. */
  readonly enable: Enable
  /** Stops signing with previous secrets. @throws Problem 404 if the webhook has no valid previous secret */
  withdrawSecrets(caller: Admin, id: number): Promise<void>
}

const FIELDS = ['url', 'events', 'is_active', 'disabled_reason'] as const

export function registrationsService(deps: RegistrationsDeps): WebhookRegistrations {
  const { db, clock, secrets, policy } = deps

  /** Saves a changed webhook. If its URL has changed or it was activated, retries its pending deliveries. */
  async function become(
    tx: TenantTx,
    actor: Actor,
    {
      before,
      after,
      hasNewSecret = false,
    }: { before: Webhook; after: Webhook; hasNewSecret?: boolean },
  ): Promise<void> {
    const { id, tenant_id } = before
    const { url, events, is_active, disabled_reason } = after
    if (isOther(before, after))
      await store.updateWebhook(tx, id, { url, events, is_active, disabled_reason })
    // Resets the circuit breaker. Its state concerns another receiver, or the time before the deactivation.
    if (url !== before.url || (is_active && !before.is_active)) {
      const at = isoAt(clock)
      await resetCircuit(tx, id, at)
      notifyDue(tx, [id])
      await deps.retryNow(tx, { id, tenant_id, at })
    }
    tx.invalidate(`webhook:${id}`)
    await append(tx, actor, {
      ...journalEntry('webhook.updated', 'webhook', before),
      changes: {
        ...shownChanges(before, after),
        ...(hasNewSecret ? { secret: 'changed' } : {}),
      },
    })
  }

  return {
    refine: (input, refuse) => refineInput(input, policy, refuse),

    list: (caller) => db.inTenant(caller.tenant_id, store.listWebhooks, 'read'),

    async register(caller, { url, events, secret }) {
      const { tenant_id } = caller
      const made = secret === undefined ? { secret: newWebhookSecret() } : {}
      const webhook = await db.inTenant(tenant_id, async (tx) => {
        await store.lockRegistrations(tx, tenant_id)
        if ((await store.countWebhooks(tx)) >= MAX_WEBHOOKS) throw new Problem('too_many_webhooks')
        const created = await store.insertWebhook(tx, {
          tenant_id,
          url,
          events: distinct(events),
        })
        await insertQueue(tx, { tenant_id, webhook_id: created.id })
        await secrets.replace(tx, created, secret ?? made.secret ?? '')
        await append(tx, actorOf(caller), {
          ...journalEntry('webhook.registered', 'webhook', created),
          changes: shownChanges(null, created),
        })
        return created
      })
      return { ...webhook, ...made }
    },

    update: (caller, id, change) =>
      db.inTenant(caller.tenant_id, async (tx) => {
        const before = orNotFound(await store.lockWebhook(tx, id), 'webhook')
        const after = changed(before, change)
        const hasNewSecret =
          change.secret !== undefined && (await secrets.replace(tx, before, change.secret))
        if (!isOther(before, after) && !hasNewSecret) return before
        await become(tx, actorOf(caller), { before, after, hasNewSecret })
        return orNotFound(await store.findWebhook(tx, id), 'webhook')
      }),

    delete: (caller, id) =>
      db.inTenant(caller.tenant_id, async (tx) => {
        const webhook = orNotFound(await store.lockWebhook(tx, id), 'webhook')
        await store.deleteWebhook(tx, id)
        await deps.deleteDeliveries(tx, webhook)
        tx.invalidate(`webhook:${id}`)
        await append(tx, actorOf(caller), {
          ...journalEntry('webhook.deleted', 'webhook', webhook),
          changes: shownChanges(webhook, null),
        })
      }),

    enable: (tx, before) =>
      become(tx, SYSTEM, { before, after: changed(before, { is_active: true }) }),

    withdrawSecrets: (caller, id) =>
      db.inTenant(caller.tenant_id, async (tx) => {
        const webhook = orNotFound(await store.lockWebhook(tx, id), 'webhook')
        if (!(await secrets.withdrawOld(tx, webhook)))
          throw new Problem('not_found', {
            detail: 'The webhook has no previous secret that is still valid',
          })
        tx.invalidate(`webhook:${id}`)
        await append(
          tx,
          actorOf(caller),
          journalEntry('webhook.secrets_withdrawn', 'webhook', webhook),
        )
      }),
  }

  function changed(before: Webhook, change: WebhookChange): Webhook {
    const { url, events, is_active = before.is_active } = change
    return {
      ...before,
      ...(url === undefined ? {} : { url }),
      ...(events === undefined ? {} : { events: distinct(events) }),
      is_active,
      disabled_reason: is_active ? null : before.is_active ? 'admin' : before.disabled_reason,
    }
  }
}

const isOther = (before: Webhook, after: Webhook) =>
  FIELDS.some((field) => String(after[field]) !== String(before[field]))

const distinct = (events: readonly string[]) => [...new Set(events)]

/** Returns the changes for the journal. They contain only the origin of the URL, and no secret. */
function shownChanges(before: Webhook | null, after: Webhook | null) {
  const changes = changesBetween<Webhook>(before, after, FIELDS)
  const shown = (side: Record<string, unknown> | null) =>
    typeof side?.url === 'string' ? { ...side, url: shownUrl(side.url) } : side
  return { before: shown(changes.before), after: shown(changes.after) }
}
