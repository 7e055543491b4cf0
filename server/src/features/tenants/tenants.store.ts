import { type RawBuilder, sql } from 'kysely'
import { foldName, nameKey } from '../../lib/fold.ts'
import { lockUntilEnd, type TenantTx } from '../../platform/db/index.ts'
import {
  type ListedTenant,
  MAX_COUNTED_USERS,
  MAX_LISTED,
  type NewTenant,
  type PublicTenant,
  type Tenant,
  type TenantChange,
  type TenantQuery,
} from './tenants.schema.ts'
import './tenants.table.ts'

const COLUMNS = ['id', 'name', 'subdomain', 'settings', 'is_active', 'created_at'] as const

/** A tenant with fields that are not part of a response. */
export type KnownTenant = Tenant & { is_platform: boolean; is_demo: boolean }

function living(tx: TenantTx) {
  const tenants = tx.db.selectFrom('tenants').where('deleted_at', 'is', null)
  return tx.tenantId === null ? tenants : tenants.where('id', '=', tx.tenantId)
}

/** A tenant as the list shows it, before the time of the purge is known. */
type TenantRow = Omit<ListedTenant, 'restorable_until'> & { isPurging: boolean }

/** Lists a page of tenants, by folded name. The settings, which can be large, are loaded only for the page. */
export async function listTenants(
  tx: TenantTx,
  { search, status, counts, page, limit }: TenantQuery,
): Promise<{ items: TenantRow[]; total: number }> {
  const named = await withStatus(tx, status)
    .select(['id', 'name', 'subdomain'])
    .orderBy('id')
    .execute()
  const found = byName(named.filter(matcherOf(search)))
  const ids = found.slice((page - 1) * limit, page * limit).map(({ id }) => id)
  if (ids.length === 0) return { items: [], total: found.length }
  const rows = await withStatus(tx, status)
    .select([...COLUMNS, 'deleted_at', sql<boolean>`purge_started_at is not null`.as('isPurging')])
    .$if(counts, (tenants) => tenants.select(USERS_COUNT))
    .where('id', 'in', ids)
    .execute()
  const byId = new Map(rows.map((row) => [row.id, row]))
  return { items: ids.flatMap((id) => byId.get(id) ?? []), total: found.length }
}

/** Counts up to 10,001 users of each tenant, so that a page of large tenants takes milliseconds. */
const USERS_COUNT = sql<number>`(select count(*) from (
  select from users where users.tenant_id = tenants.id limit ${sql.lit(MAX_COUNTED_USERS + 1)}) few)`.as(
  'users_count',
)

/** Selects the tenants with a status, which are all that are not deleted if it is undefined. */
function withStatus(tx: TenantTx, status: TenantQuery['status']) {
  if (status !== 'deleted')
    return living(tx).$if(status !== undefined, (tenants) =>
      tenants.where('is_active', '=', status === 'active'),
    )
  const deleted = tx.db.selectFrom('tenants').where('deleted_at', 'is not', null)
  // A deleted tenant has no callers of its own, so only transactions across tenants can list it.
  return tx.tenantId === null ? deleted : deleted.where(sql<boolean>`false`)
}

/** Returns a function that checks whether the name or the subdomain of a tenant contains a text. */
function matcherOf(search = '') {
  const folded = foldName(search)
  const plain = search.toLowerCase()
  return ({ name, subdomain }: { name: string; subdomain: string }) =>
    (folded !== '' && foldName(name).includes(folded)) ||
    name.toLowerCase().includes(plain) ||
    subdomain.includes(plain)
}

/** Sorts tenants by folded name, then by name. Tenants with the same name keep their order, which is by id. */
const byName = <T extends { name: string }>(tenants: readonly T[]): T[] => {
  const keyed = tenants.map((tenant) => ({ tenant, key: nameKey(tenant.name) }))
  return keyed.toSorted((a, b) => compare(a.key, b.key)).map(({ tenant }) => tenant)
}

const compare = (a: string, b: string) => (a === b ? 0 : a < b ? -1 : 1)

/** Lists the tenants that anyone can choose from at sign-in (decisions §2). */
export async function listPublicTenants(tx: TenantTx): Promise<PublicTenant[]> {
  const listed = await living(tx)
    .select(['id', 'name', 'subdomain'])
    .where('is_active', '=', true)
    .where('is_platform', '=', false)
    .where(sql<boolean>`coalesce(settings -> 'listed', 'true') <> 'false'`)
    .orderBy('id')
    .limit(MAX_LISTED)
    .execute()
  return byName(listed)
}

const known = (tx: TenantTx, id: number) =>
  living(tx)
    .select([...COLUMNS, 'is_platform', 'is_demo'])
    .where('id', '=', id)

export function findTenant(tx: TenantTx, id: number): Promise<KnownTenant | undefined> {
  return known(tx, id).executeTakeFirst()
}

/** Finds and locks a tenant until the transaction ends. Sends the query without waiting for earlier queries. */
export async function lockTenant(tx: TenantTx, id: number): Promise<KnownTenant | undefined> {
  return (await tx.sendFor<KnownTenant>(known(tx, id).forUpdate().compile()).rows)[0]
}

/**
 * Finds a tenant and prevents changes to it until the transaction ends. Several transactions can hold this shared lock.
 * Sends the query without waiting for earlier queries.
 */
export async function shareTenant(tx: TenantTx, id: number): Promise<KnownTenant | undefined> {
  return (await tx.sendFor<KnownTenant>(known(tx, id).forShare().compile()).rows)[0]
}

/** The tenant that a request names: by its subdomain, or the only tenant besides the platform tenant. */
export type AskedTenant = { subdomain: string } | 'only'

/** Returns the SQL condition that a row of `tenants` is the requested tenant. */
export function isAskedFor(asked: 'only' | { subdomain: string | RawBuilder<string> }) {
  return asked === 'only'
    ? sql<boolean>`not tenants.is_platform and not exists (select from tenants other
        where other.id <> tenants.id and not other.is_platform and other.deleted_at is null)`
    : sql<boolean>`tenants.subdomain = ${asked.subdomain}`
}

export function findAskedTenant(
  tx: TenantTx,
  asked: AskedTenant,
): Promise<KnownTenant | undefined> {
  return living(tx)
    .select([...COLUMNS, 'is_platform', 'is_demo'])
    .where(isAskedFor(asked))
    .executeTakeFirst()
}

/** Finds the id of the requested tenant. Does not load the settings, which can be large. */
export async function findAskedTenantId(
  tx: TenantTx,
  asked: AskedTenant,
): Promise<number | undefined> {
  const found = await living(tx).select('id').where(isAskedFor(asked)).executeTakeFirst()
  return found?.id
}

/** Returns whether a tenant has the subdomain. A deleted tenant reserves its subdomain until it is purged. */
export async function isSubdomainTaken(tx: TenantTx, subdomain: string): Promise<boolean> {
  const holder = await tx.db
    .selectFrom('tenants')
    .select('id')
    .where('subdomain', '=', subdomain)
    .executeTakeFirst()
  return holder !== undefined
}

export function insertTenant(
  tx: TenantTx,
  tenant: NewTenant & { is_platform?: boolean; is_demo?: boolean },
): Promise<Tenant> {
  return tx.db
    .insertInto('tenants')
    .values({ ...tenant, settings: JSON.stringify(tenant.settings ?? {}) })
    .returning(COLUMNS)
    .executeTakeFirstOrThrow()
}

export function updateTenant(tx: TenantTx, id: number, change: TenantChange): Promise<Tenant> {
  const { settings, ...plain } = change
  return tx.db
    .updateTable('tenants')
    .set({ ...plain, ...(settings ? { settings: JSON.stringify(settings) } : {}) })
    .where('id', '=', id)
    .returning(COLUMNS)
    .executeTakeFirstOrThrow()
}

export async function markTenantDeleted(tx: TenantTx, id: number): Promise<void> {
  await tx.db.updateTable('tenants').set({ deleted_at: sql`now()` }).where('id', '=', id).execute()
}

/** Undoes the deletion of a tenant and returns the tenant. Returns undefined if no deleted tenant has this id. */
export function unmarkDeleted(tx: TenantTx, id: number): Promise<Tenant | undefined> {
  return tx.db
    .updateTable('tenants')
    .set({ deleted_at: null })
    .where('id', '=', id)
    .where('deleted_at', 'is not', null)
    .where('purge_started_at', 'is', null)
    .returning(COLUMNS)
    .executeTakeFirst()
}

export async function countTenants(tx: TenantTx): Promise<number> {
  const { count } = await living(tx)
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count
}

/**
 * Prevents changes to the set of superadmins until the transaction ends. A change that may remove a superadmin, or the
 * tenant of one, must take this lock before it counts the remaining superadmins.
 */
export const lockOperators = (tx: TenantTx): Promise<void> => lockUntilEnd(tx, 'operators')

/** Counts active superadmins of active tenants. Can exclude one tenant or one user. */
export async function countOperators(
  tx: TenantTx,
  { tenantId = null, userId = null }: { tenantId?: number | null; userId?: number | null },
): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from users u join tenants t on t.id = u.tenant_id
    where u.role = 'superadmin' and u.is_active and t.is_active and t.deleted_at is null
      and t.id is distinct from ${tenantId}::bigint
      and u.id is distinct from ${userId}::bigint`.execute(tx.db)
  return rows[0]?.count ?? 0
}

/** Finds the platform tenant, which the first start of the service creates. */
export function findPlatformTenant(tx: TenantTx): Promise<Tenant | undefined> {
  return living(tx).select(COLUMNS).where('is_platform', '=', true).executeTakeFirst()
}

/**
 * Returns the tenant whose journal and webhooks receive an event. Full backups and platform-wide events belong to the
 * platform tenant. Returns null before the first start has created the platform tenant.
 */
export async function eventTenantId(
  tx: TenantTx,
  tenantId: number | null = null,
): Promise<number | null> {
  return tenantId ?? (await findPlatformTenant(tx))?.id ?? null
}

/**
 * Restarts the grace period of deleted tenants, except for those whose purge has started. Sets their deletion time to
 * one hour ago. The webhooks of a tenant continue to send for one hour after the deletion, and must not start again.
 */
export async function restartTenantGracePeriod(tx: TenantTx): Promise<void> {
  await tx.db
    .updateTable('tenants')
    .set({ deleted_at: sql`greatest(deleted_at, now() - interval '1 hour')` })
    .where('deleted_at', 'is not', null)
    .where('purge_started_at', 'is', null)
    .execute()
}

/** Marks tenants deleted before `before` as no longer restorable. Returns all tenants whose purge has started. */
export async function startPurges(tx: TenantTx, before: string): Promise<number[]> {
  const rows = await tx.db
    .updateTable('tenants')
    .set({ purge_started_at: sql`coalesce(purge_started_at, now())` })
    .where((or) => or.or([or('deleted_at', '<', before), or('purge_started_at', 'is not', null)]))
    .returning('id')
    .execute()
  return rows.map((row) => row.id)
}

/** Deletes the tenant's row and its data keys. Returns whether this call deleted the row. */
export async function purgeTenant(tx: TenantTx, id: number): Promise<boolean> {
  // Defers the constraints to the commit, because rows are deleted in any order. No encrypted row may lack its key.
  await sql`set constraints all deferred`.execute(tx.db)
  const result = await tx.db
    .deleteFrom('tenants')
    .where('id', '=', id)
    .where('purge_started_at', 'is not', null)
    .executeTakeFirst()
  return result.numDeletedRows === 1n
}
