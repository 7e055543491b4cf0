import { sql } from 'kysely'
import { ofScope, type TenantTx } from '../../../platform/db/index.ts'
import type { DisableReason } from '../engine/circuit.ts'
import type { Webhook } from '../webhooks.schema.ts'
import '../webhooks.table.ts'

const OWN_COLUMNS = [
  'webhooks.id',
  'webhooks.tenant_id',
  'webhooks.url',
  'webhooks.events',
  'webhooks.is_active',
  'webhooks.created_at',
  'webhooks.disabled_reason',
] as const
const COLUMNS = [...OWN_COLUMNS, 'webhook_queues.failing_since'] as const

function visible(tx: TenantTx) {
  return tx.db
    .selectFrom('webhooks')
    .innerJoin('webhook_queues', 'webhook_queues.webhook_id', 'webhooks.id')
    .select(COLUMNS)
    .where(ofScope(tx, 'webhooks.tenant_id'))
}

export function listWebhooks(tx: TenantTx): Promise<Webhook[]> {
  return visible(tx).orderBy('webhooks.id').execute()
}

export function findWebhook(tx: TenantTx, id: number): Promise<Webhook | undefined> {
  return visible(tx).where('webhooks.id', '=', id).executeTakeFirst()
}

/** Finds a webhook and locks it against changes until the transaction ends. */
export function lockWebhook(tx: TenantTx, id: number): Promise<Webhook | undefined> {
  return visible(tx).where('webhooks.id', '=', id).forUpdate('webhooks').executeTakeFirst()
}

/** Finds a webhook and prevents changes to it until the transaction ends. Several transactions can share this lock. */
export function shareWebhook(tx: TenantTx, id: number): Promise<Webhook | undefined> {
  return visible(tx).where('webhooks.id', '=', id).forShare('webhooks').executeTakeFirst()
}

/** Prevents the deletion of the webhook until the transaction ends. Returns whether the webhook exists. */
export async function keepWebhook(tx: TenantTx, id: number): Promise<boolean> {
  const row = await tx.db
    .selectFrom('webhooks')
    .select('id')
    .where('id', '=', id)
    .where(ofScope(tx, 'tenant_id'))
    .forKeyShare()
    .executeTakeFirst()
  return row !== undefined
}

/** Serialises the registrations of a tenant, so that each one counts the previous webhooks. */
export async function lockRegistrations(tx: TenantTx, tenantId: number): Promise<void> {
  const name = `webhooks of tenant ${tenantId}`
  await sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`.execute(tx.db)
}

export async function countWebhooks(tx: TenantTx): Promise<number> {
  const { count } = await tx.db
    .selectFrom('webhooks')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where(ofScope(tx, 'tenant_id'))
    .executeTakeFirstOrThrow()
  return count
}

/** Inserts a webhook. The caller must also insert its queue and its secret. */
export async function insertWebhook(
  tx: TenantTx,
  webhook: { tenant_id: number; url: string; events: string[] },
): Promise<Webhook> {
  const created = await tx.db
    .insertInto('webhooks')
    .values({ ...webhook, disabled_reason: null })
    .returning(OWN_COLUMNS)
    .executeTakeFirstOrThrow()
  return { ...created, failing_since: null }
}

export async function updateWebhook(
  tx: TenantTx,
  id: number,
  change: Pick<Webhook, 'url' | 'events' | 'is_active' | 'disabled_reason'>,
): Promise<void> {
  await tx.db
    .updateTable('webhooks')
    .set(change)
    .where('id', '=', id)
    .where(ofScope(tx, 'tenant_id'))
    .execute()
}

/** A webhook to deactivate, and the failures that are the reason. */
export interface Failing {
  id: number
  url: string
  /** The queue's reset counter when the queue was claimed. */
  resets: number
  reason: DisableReason
  /** When the current run of failures began, ISO 8601. */
  since: string
}

/**
 * Deactivates a webhook on behalf of the service. Returns false if the webhook has got another URL since, was activated
 * again, or has recovered. The failures then do not concern its current receiver.
 */
export async function deactivate(
  tx: TenantTx,
  { id, url, resets, reason, since }: Failing,
): Promise<boolean> {
  // Locks in a separate statement, so that the update sees what the previous lock holder committed.
  await lockWebhook(tx, id)
  const { numUpdatedRows } = await tx.db
    .updateTable('webhooks')
    .set({ is_active: false, disabled_reason: reason })
    .where('id', '=', id)
    .where('url', '=', url)
    .where('is_active', '=', true)
    .where(
      sql<boolean>`exists (select from webhook_queues q
        where q.webhook_id = webhooks.id and q.resets = ${resets}
          and coalesce(q.failing_since <= ${since}::timestamptz, ${reason === 'gone'}))`,
    )
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Deletes the webhook with its secrets, its queue and its replays. */
export async function deleteWebhook(tx: TenantTx, id: number): Promise<void> {
  await tx.db.deleteFrom('webhooks').where('id', '=', id).where(ofScope(tx, 'tenant_id')).execute()
}
