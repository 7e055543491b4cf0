/** The tenants' SQL. */
import { type RawBuilder, sql } from 'kysely'
import { nameKey } from '../../lib/fold.ts'
import { lockUntilEnd, type TenantTx } from '../../platform/db/index.ts'
import type { NewTenant, PublicTenant, Tenant, TenantChange } from './tenants.schema.ts'
import './tenants.table.ts'

const COLUMNS = ['id', 'name', 'subdomain', 'settings', 'is_active', 'created_at'] as const

/** A tenant with what only the service itself needs to know. */
export type KnownTenant = Tenant & { is_platform: boolean; is_demo: boolean }

function living(tx: TenantTx) {
  const tenants = tx.db.selectFrom('tenants').where('deleted_at', 'is', null)
  return tx.tenantId === null ? tenants : tenants.where('id', '=', tx.tenantId)
}

/** Lists that are bare arrays have no pages, and end here. */
const MAX_LISTED = 1_000

export async function listTenants(tx: TenantTx): Promise<Tenant[]> {
  return byName(await living(tx).select(COLUMNS).orderBy('id').limit(MAX_LISTED).execute())
}

/** By the folded name, then by the name, then by id, as they come. */
const byName = <T extends { name: string }>(tenants: readonly T[]): T[] => {
  const keyed = tenants.map((tenant) => ({ tenant, key: nameKey(tenant.name) }))
  return keyed.toSorted((a, b) => compare(a.key, b.key)).map(({ tenant }) => tenant)
}

const compare = (a: string, b: string) => (a === b ? 0 : a < b ? -1 : 1)

/** The tenants that anyone may choose from at sign-in (decisions §2). */
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

/** As `findTenant`, and keeps others from changing the tenant until the transaction ends; sent at once. */
export async function lockTenant(tx: TenantTx, id: number): Promise<KnownTenant | undefined> {
  return (await tx.sendFor<KnownTenant>(known(tx, id).forUpdate().compile()).rows)[0]
}

/** The same for others who only read it too: it stays as it is until the transaction ends; sent at once. */
export async function shareTenant(tx: TenantTx, id: number): Promise<KnownTenant | undefined> {
  return (await tx.sendFor<KnownTenant>(known(tx, id).forShare().compile()).rows)[0]
}

/** Which tenant a request is about: that of a subdomain, or the only one beside the platform's. */
export type AskedTenant = { subdomain: string } | 'only'

/** The condition that a row of `tenants` is the tenant that is asked for. */
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

/** The id of `findAskedTenant`'s, without its settings, which may be long. */
export async function findAskedTenantId(
  tx: TenantTx,
  asked: AskedTenant,
): Promise<number | undefined> {
  const found = await living(tx).select('id').where(isAskedFor(asked)).executeTakeFirst()
  return found?.id
}

/** Whether a tenant has the subdomain, be it a deleted one, which keeps it until it is purged. */
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

export async function markDeleted(tx: TenantTx, id: number): Promise<void> {
  await tx.db.updateTable('tenants').set({ deleted_at: sql`now()` }).where('id', '=', id).execute()
}

/** Takes a deletion back. Returns the tenant; undefined when none of the id is deleted. */
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
 * Until the transaction ends nobody else changes who operates the platform: whoever could take away
 * a superadmin, or the tenant of one, takes this before looking who is left.
 */
export const lockOperators = (tx: TenantTx): Promise<void> => lockUntilEnd(tx, 'operators')

/** How many superadmins can sign in: active ones of active tenants, but for one tenant's, or one user. */
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

/** The platform's own tenant; there is one from the first start on. */
export function findPlatformTenant(tx: TenantTx): Promise<Tenant | undefined> {
  return living(tx).select(COLUMNS).where('is_platform', '=', true).executeTakeFirst()
}

/**
 * Has the days in which a deletion can be taken back begin anew, but for tenants that are half destroyed. Less the
 * hour in which a tenant's own webhooks still hear of its deletion: that was long ago.
 */
export async function beginGraceAnew(tx: TenantTx): Promise<void> {
  await tx.db
    .updateTable('tenants')
    .set({ deleted_at: sql`greatest(deleted_at, now() - interval '1 hour')` })
    .where('deleted_at', 'is not', null)
    .where('purge_started_at', 'is', null)
    .execute()
}

/**
 * Marks the tenants deleted before `before`: they cannot be put back any more. Returns their ids, and
 * those whose purge was begun earlier.
 */
export async function startPurges(tx: TenantTx, before: string): Promise<number[]> {
  const rows = await tx.db
    .updateTable('tenants')
    .set({ purge_started_at: sql`coalesce(purge_started_at, now())` })
    .where((or) => or.or([or('deleted_at', '<', before), or('purge_started_at', 'is not', null)]))
    .returning('id')
    .execute()
  return rows.map((row) => row.id)
}

/** Destroys the tenant itself, its data keys with it. Returns whether this call did. */
export async function purgeTenant(tx: TenantTx, id: number): Promise<boolean> {
  // Whichever goes first, at the end nothing is left that a data key had sealed.
  await sql`set constraints all deferred`.execute(tx.db)
  const result = await tx.db
    .deleteFrom('tenants')
    .where('id', '=', id)
    .where('purge_started_at', 'is not', null)
    .executeTakeFirst()
  return result.numDeletedRows === 1n
}
