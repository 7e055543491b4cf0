/** Finds the tenants in maintenance mode. A restore holds an advisory lock for each of them. */
import type pg from 'pg'
import { ServerRefused } from './failures.ts'
import { IS_READ_ONLY } from './first-message.ts'
import { LOCKS } from './lock-numbers.ts'

/** The number that stands for all tenants, instead of a tenant's id. */
export const EVERY_TENANT = 0

export const FIND_MAINTENANCE = `select objid::int from pg_locks
  where locktype = 'advisory' and classid = ${LOCKS.maintenance} and objsubid = 2 and granted
    and database = (select oid from pg_database where datname = current_database())`

interface Queryable {
  query<R extends pg.QueryResultRow>(query: pg.QueryConfig): Promise<{ rows: R[] }>
}

/**
 * Returns the tenants in maintenance mode. @param timeoutMs for the query @throws ServerRefused by a read-only server
 */
export async function readMaintenance(
  connection: Queryable,
  timeoutMs?: number,
): Promise<ReadonlySet<number>> {
  const { rows } = await connection.query<{ is_read_only: boolean; tenants: number[] }>({
    text: `select ${IS_READ_ONLY} as is_read_only, array(${FIND_MAINTENANCE}) as tenants`,
    query_timeout: timeoutMs,
  } as pg.QueryConfig)
  const [row] = rows
  if (!row || row.is_read_only) throw new ServerRefused('The database server has become read-only.')
  return new Set(row.tenants)
}

/** Returns whether the tenant is in maintenance mode, or with null, the whole service. */
export const coversTenant = (tenants: ReadonlySet<number>, tenantId: number | null): boolean =>
  tenants.size > 0 && (tenants.has(EVERY_TENANT) || (tenantId !== null && tenants.has(tenantId)))
