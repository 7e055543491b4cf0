/** The SQL of maintenance mode: an advisory lock that makes every node respond with 503 for one or all tenants. */
import type { Time } from '../../../lib/time.ts'
import { EVERY_TENANT, LOCKS, type PgConnection } from '../../../platform/db/index.ts'

/** How long to wait until every healthy node has noticed the lock. */
const NOTICED_AFTER_MS = 1_000

/**
 * Enters maintenance mode for one tenant, or for all tenants with null. Resolves when every node responds with 503.
 * Maintenance mode lasts until `leaveMaintenance`, or until the connection ends.
 */
export async function enterMaintenance(
  client: PgConnection,
  tenantId: number | null,
  clock: Pick<Time, 'delay'>,
): Promise<void> {
  await checkConnection(client)
  await client.query('select pg_advisory_lock($1, $2)', [
    LOCKS.maintenance,
    tenantId ?? EVERY_TENANT,
  ])
  await clock.delay(NOTICED_AFTER_MS)
}

/**
 * Makes the server check every second, even during a statement, that this process is still connected. Otherwise
 * maintenance mode would continue after this process is killed, until its statement ends.
 */
async function checkConnection(client: PgConnection): Promise<void> {
  // Ignores an error, because PostgreSQL does not support this setting on every operating system.
  await client.query(`set client_connection_check_interval = '1s'`).catch(() => undefined)
}

export async function leaveMaintenance(
  client: PgConnection,
  tenantId: number | null,
): Promise<void> {
  await client.query('select pg_advisory_unlock($1, $2)', [
    LOCKS.maintenance,
    tenantId ?? EVERY_TENANT,
  ])
}
