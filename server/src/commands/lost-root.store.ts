import { sql } from 'kysely'
import type { TenantTx } from '../platform/db/index.ts'

/**
 * Deletes the encrypted data and disables second factors. Keeps tenants, users, departments, payments and the journal.
 * Audit keys keep their rows, so that the next one has the same name and earlier heads can be verified.
 */
export async function deleteSealed(tx: TenantTx): Promise<void> {
  for (const statement of [
    sql`update users set totp_enabled_at = null where totp_enabled_at is not null`,
    sql`update root_keys set retired_at = coalesce(retired_at, now()), sealed_key = null`,
    sql`update audit_keys set retired_at = coalesce(retired_at, now()), sealed_private_key = null`,
    sql`delete from pgboss.job_common where name = 'mail.send'`,
    ...TABLES.map((table) => sql`delete from ${sql.table(table)}`),
  ])
    await statement.execute(tx.db)
}

const TABLES = [
  'signing_keys',
  'recovery_codes',
  'second_factors',
  'webhooks',
  'messenger_links',
  'messenger_codes',
  'messenger_replies',
  'payment_notifications',
  'patients',
  'data_keys',
  'key_encryption_keys',
  'service_key',
]
