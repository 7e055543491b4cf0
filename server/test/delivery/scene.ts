/** Tenants, webhooks, events and deliveries in the test's own database. */
import { onTestFinished } from 'vitest'
import { insertQueue } from '../../src/features/webhooks/engine/queues.store.ts'
import { messageId } from '../../src/features/webhooks/events/message.ts'
import { openSecrets } from '../../src/features/webhooks/registrations/secrets.ts'
import { newWebhookSecret } from '../../src/features/webhooks/sending/signature.ts'
import type {
  WebhookAttemptsTable,
  WebhookDeliveriesTable,
} from '../../src/features/webhooks/webhooks.table.ts'
import {
  type KeyRing,
  openKeyRing,
  openSealer,
  type Sealer,
} from '../../src/platform/crypto/index.ts'
import { openScopes, type Scopes, watchChanges } from '../../src/platform/db/index.ts'
import { type Action, appendReturning, SYSTEM } from '../../src/platform/journal/index.ts'
import { migratedDatabase, type TestDatabase } from '../support/database.ts'
import { silentLog } from '../support/server-address.ts'
import { type MovableClock, movableClock } from '../support/time.ts'
import { until } from '../support/until.ts'

/** A random secret for this run, so that messages of other runs do not verify. */
export const SECRET = newWebhookSecret()

export interface TestWebhook {
  id: number
  tenant_id: number
  url: string
}

export interface TestEvent {
  /** The number of the entry, which is also the number of its delivery. */
  id: number
  created_at: string
  /** The message ID that every attempt carries. */
  message: string
}

/** A row of the queue table. */
export interface QueueRow {
  webhook_id: number
  due_at: string | null
  leased_by: string | null
  leased_until: string | null
  epoch: number
  failures: number
  failing_since: string | null
  slots: number
  paused_until: string | null
}

export interface Scene {
  database: TestDatabase
  /** Follows real time, and jumps forward when a test advances it. */
  clock: MovableClock
  /** The database scopes of a process that writes and notifies other processes, but delivers nothing. */
  db: Scopes
  keyRing: KeyRing
  /** The key with which every process encrypts. */
  root: Sealer
  tenant(): Promise<number>
  admin(
    tenantId: number,
    email: string,
    fields?: { is_active?: boolean; role?: string },
  ): Promise<void>
  /** @param secrets oldest first; the last one is the current secret */
  webhook(
    tenantId: number,
    url: string,
    options?: { events?: string[]; secrets?: string[] },
  ): Promise<TestWebhook>
  event(tenantId: number, action?: Action, changes?: Record<string, unknown>): Promise<TestEvent>
  /** Changes the row as the API does, and notifies every process. */
  change(webhook: TestWebhook, fields: Record<string, unknown>): Promise<void>
  queue(webhook: TestWebhook): Promise<QueueRow>
  /** Returns the deliveries in the order of their events. */
  deliveries(webhook: TestWebhook): Promise<WebhookDeliveryRow[]>
  /** Returns the attempts in the order in which they were made. */
  attempts(webhook: TestWebhook): Promise<WebhookAttemptsTable[]>
  /**
   * Waits until the whole journal can be read. A running transaction in any database of the server delays the reading
   * of later entries. Without this wait, the events would not be read in one batch.
   */
  untilReadable(): Promise<void>
  /** Waits until the webhook has this many deliveries (one by default), none of which is pending. */
  untilSettled(webhook: TestWebhook, count?: number): Promise<void>
}

type WebhookDeliveryRow = { [K in keyof WebhookDeliveriesTable]: any }

export async function openScene(): Promise<Scene> {
  const database = await migratedDatabase()
  const { sql } = database
  const clock = movableClock()
  const changes = watchChanges(database.address, silentLog, clock)
  const db = openScopes(database.address, { clock, size: 8, changes, log: silentLog })
  onTestFinished(async () => {
    await changes.stop()
    await db.close()
  })
  const root = openSealer(Buffer.alloc(32, 7))
  const keyRing = await openKeyRing(db, root, changes)
  const secretsOf = openSecrets({ keyRing, clock })
  let people = 0

  const deliveries = (webhook: TestWebhook) =>
    sql<WebhookDeliveryRow>(
      'select * from webhook_deliveries where webhook_id = $1 order by event_at, entry_id',
      [webhook.id],
    )

  return {
    database,
    clock,
    db,
    keyRing,
    root,
    async tenant() {
      const [row] = await sql<{ id: number }>(
        `insert into tenants (name, subdomain)
         values ('Clinic', 'clinic-' || gen_random_uuid()) returning id`,
      )
      return row?.id ?? 0
    },
    async admin(tenantId, email, { is_active = true, role = 'admin' } = {}) {
      people += 1
      await sql(
        `insert into users (tenant_id, email, full_name, role, is_active, password_hash)
         values ($1, $2, $3, $4, $5, 'x')`,
        [tenantId, email, `Person ${people}`, role, is_active],
      )
    },
    webhook: (tenant_id, url, { events = ['*'], secrets = [SECRET] } = {}) =>
      db.inTenant(tenant_id, async (tx) => {
        const { id } = await tx.db
          .insertInto('webhooks')
          .values({ tenant_id, url, events, disabled_reason: null })
          .returning('id')
          .executeTakeFirstOrThrow()
        const webhook = { id, tenant_id, url }
        await insertQueue(tx, { tenant_id, webhook_id: id })
        for (const secret of secrets) await secretsOf.replace(tx, webhook, secret)
        return webhook
      }),
    event: (tenant_id, action = 'department.updated', changes_ = {}) =>
      db.inTenant(tenant_id, async (tx) => {
        const entry = { action, tenant_id, resource_type: 'department', resource_id: 1 }
        const made = await appendReturning(tx, SYSTEM, { ...entry, changes: changes_ })
        return { ...made, message: messageId(made) }
      }),
    change: ({ id, tenant_id }, fields) =>
      db.inTenant(tenant_id, async (tx) => {
        await tx.db.updateTable('webhooks').set(fields).where('id', '=', id).execute()
        tx.invalidate(`webhook:${id}`)
      }),
    async queue({ id }) {
      const [row] = await sql<QueueRow & Record<string, unknown>>(
        'select * from webhook_queues where webhook_id = $1',
        [id],
      )
      if (!row) throw new Error(`webhook ${id} has no queue`)
      return row
    },
    deliveries,
    attempts: ({ id }) =>
      sql<WebhookAttemptsTable & Record<string, unknown>>(
        'select * from webhook_attempts where webhook_id = $1 order by started_at, number',
        [id],
      ),
    async untilReadable() {
      await until('all events can be read', async () => {
        const held = await sql(
          'select from journal where xid >= pg_snapshot_xmin(pg_current_snapshot()) limit 1',
        )
        return held.length === 0 || undefined
      })
    },
    async untilSettled(webhook, count = 1) {
      await until(`${count} deliveries are settled`, async () => {
        const rows = await deliveries(webhook)
        const isSettled = rows.every(({ status }) => status !== 'pending')
        return (rows.length >= count && isSettled) || undefined
      })
    },
  }
}
