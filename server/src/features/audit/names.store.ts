/** Looks up the current names of users and other records. */
import { type RawBuilder, sql } from 'kysely'
import { ofScope, type TenantTx } from '../../platform/db/index.ts'
import type { AuditEntry, StoredEntry } from './audit.schema.ts'

const MAX_ID = BigInt(Number.MAX_SAFE_INTEGER)

/** The queries for names by resource type. Patients have none, because the log shows only their ids. */
const QUERIES = {
  user: (ids, tx) => sql`select 'user', id::text, full_name from users
    where id = any(${ids}::bigint[]) and ${ofScope(tx, 'tenant_id')}`,
  department: (ids, tx) => sql`select 'department', id::text, name from departments
    where id = any(${ids}::bigint[]) and ${ofScope(tx, 'tenant_id')}`,
  tenant: (ids, tx) => sql`select 'tenant', id::text, name from tenants
    where id = any(${ids}::bigint[]) and deleted_at is null and ${ofScope(tx, 'id')}`,
  // Returns only the host of the URL, because the path may contain a secret.
  webhook: (
    ids,
    tx,
  ) => sql`select 'webhook', id::text, substring(url from '^[a-z]+://(?:[^/?#]*@)?([^/?#]+)')
    from webhooks where id = any(${ids}::bigint[]) and ${ofScope(tx, 'tenant_id')}`,
  session: (ids, tx) => sql`select 'session', s.id::text, u.full_name
    from sessions s join users u on u.tenant_id = s.tenant_id and u.id = s.user_id
    where s.id = any(${ids}::uuid[]) and ${ofScope(tx, 's.tenant_id')}`,
} satisfies Record<string, (ids: string[], tx: TenantTx) => RawBuilder<unknown>>

type NamedType = keyof typeof QUERIES

/** A record, by the type that the audit log uses and its id. */
export interface RecordReference {
  readonly type: string
  readonly id: number | string | null
}

/** Returns the current name of a record. Returns null for a deleted record, or one that the caller may not see. */
export type NameOf = (type: string, id: number | string | null) => string | null

/** Adds the names of users and resources to the entries, with at most one query. */
export async function addNames(
  tx: TenantTx,
  entries: readonly StoredEntry[],
): Promise<AuditEntry[]> {
  const nameOf = await findNames(
    tx,
    entries.flatMap(({ user_id, resource_type, resource_id }) => [
      { type: 'user', id: user_id },
      { type: resource_type, id: resource_id },
    ]),
  )
  return entries.map((entry) => ({
    ...entry,
    user_name: nameOf('user', entry.user_id),
    resource_name: nameOf(entry.resource_type, entry.resource_id),
  }))
}

/** Looks up the current names of records, with at most one query. */
export async function findNames(
  tx: TenantTx,
  records: readonly RecordReference[],
): Promise<NameOf> {
  const wanted = records.flatMap(({ type, id }) =>
    id !== null && hasName(type) && isIdOf(type, String(id)) ? [{ type, id: String(id) }] : [],
  )
  const parts = [...Map.groupBy(wanted, ({ type }) => type)].map(([type, some]) =>
    QUERIES[type]([...new Set(some.map(({ id }) => id))], tx),
  )
  if (parts.length === 0) return () => null
  const { rows } = await sql<{ type: string; id: string; name: string }>`
    select type, id, name from (${sql.join(parts, sql` union all `)}) n (type, id, name)`.execute(
    tx.db,
  )
  const names = new Map(rows.map(({ type, id, name }) => [`${type} ${id}`, name]))
  return (type, id) => names.get(`${type} ${id}`) ?? null
}

const hasName = (type: string): type is NamedType => Object.hasOwn(QUERIES, type)

/** Returns whether an id has the format of its type. A malformed id would make the query fail. */
function isIdOf(type: NamedType, id: string): boolean {
  if (type === 'session') return /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/.test(id)
  return /^\d{1,16}$/.test(id) && BigInt(id) <= MAX_ID
}
