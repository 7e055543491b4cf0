/** The SQL of webhooks' registrations. */
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

/** As `findWebhook`, and keeps others from changing it until the transaction ends. */
export function lockWebhook(tx: TenantTx, id: number): Promise<Webhook | undefined> {
  return visible(tx).where('webhooks.id', '=', id).forUpdate('webhooks').executeTakeFirst()
}

/** As `findWebhook`, and keeps it as it is until the transaction ends; others may do so beside. */
export function shareWebhook(tx: TenantTx, id: number): Promise<Webhook | undefined> {
  return visible(tx).where('webhooks.id', '=', id).forShare('webhooks').executeTakeFirst()
}

/** Keeps the webhook from being deleted until the transaction ends. Returns whether it is there. */
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

/** Of several who register for the same tenant, each sees those of the ones before. */
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

/** Inserts the webhook; its queue and its secret are for others to add. */
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

/** What a receiver's failures were counted for. */
export interface Failing {
  id: number
  url: string
  /** Of its queue when that was claimed. */
  resets: number
  reason: DisableReason
  /** The first failure in a row, ISO 8601. */
  since: string
}

/**
 * Deactivates a webhook by the service's own decision. Returns whether this changed anything: failures from before
 * it got another URL, was activated, or did well, as a late answer tells of them, say nothing of how it does now.
 */
export async function deactivate(
  tx: TenantTx,
  { id, url, resets, reason, since }: Failing,
): Promise<boolean> {
  // In a statement of its own: what is read behind it is as whoever had it locked has left it.
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
