/** The business rules of tenants. Each command runs in one transaction and writes one journal entry. */

import { recent } from '../../lib/brief-cache.ts'
import { type Clock, DAY, SECOND } from '../../lib/clock.ts'
import { Counted } from '../../lib/counted.ts'
import { orNotFound, Problem } from '../../lib/problems.ts'
import type { Admin, Auditor, RequireSignedIn, Superadmin } from '../../platform/access/index.ts'
import {
  type Changes,
  forCaller,
  parseTopic,
  type Scopes,
  type TenantTx,
} from '../../platform/db/index.ts'
import {
  type Action,
  actorOf,
  append,
  changesBetween,
  differing,
  journalEntry,
  SYSTEM,
} from '../../platform/journal/index.ts'
import type {
  ListedTenant,
  NewTenant,
  PublicTenant,
  Tenant,
  TenantChange,
  TenantQuery,
} from './tenants.schema.ts'
import * as store from './tenants.store.ts'

/** Ends a tenant's sessions within the transaction. Passed in by the auth feature, which imports this feature. */
export type EndTenantSessions = (
  tx: TenantTx,
  which: { tenantId: number },
  reason: string,
) => Promise<void>

export interface Tenants {
  list(caller: Auditor, query: TenantQuery): Promise<Counted<ListedTenant[]>>
  listPublic(): Promise<PublicTenant[]>
  get(caller: Auditor, id: number): Promise<Tenant>
  create(caller: Superadmin, tenant: NewTenant): Promise<Tenant>
  update(caller: Admin, id: number, change: TenantChange): Promise<Tenant>
  delete(caller: Superadmin, id: number): Promise<void>
  /**
   * Restores a deleted tenant.
   * @param caller undefined on the command line
   * @throws Problem 404 if no deleted tenant has this id, or its purge has started
   */
  restore(id: number, caller?: Superadmin): Promise<Tenant>
}

export interface TenantsDeps {
  db: Scopes
  clock: Clock
  changes: Pick<Changes, 'subscribe'>
  endSessions: EndTenantSessions
  requireSignedIn: RequireSignedIn
  /** The number of days after which the data of a deleted tenant is purged. */
  purgeDays: number
}

/** How long the public list is cached. The list needs a cache, because anyone can request it. */
const PUBLIC_FOR = 5 * SECOND

export function tenantsService(deps: TenantsDeps): Tenants {
  const { db, clock, changes, endSessions, requireSignedIn, purgeDays } = deps
  const publicList = recent<PublicTenant[]>(clock, PUBLIC_FOR, 1)
  changes.subscribe((topic) => {
    if (topic === null || parseTopic(topic).kind === 'tenant') publicList.forget()
  })

  /** Locks a tenant, and checks that the caller's session is still live. @throws Problem 401, 404 */
  async function lock(tx: TenantTx, caller: Admin, id: number): Promise<store.KnownTenant> {
    const [tenant] = await Promise.all([store.lockTenant(tx, id), requireSignedIn(tx, caller)])
    return orNotFound(tenant, 'tenant')
  }

  return {
    async list(caller, query) {
      const listed = (tx: TenantTx) => store.listTenants(tx, query)
      const { items, total } = await forCaller(db, caller, listed, 'read')
      return new Counted(
        items.map(({ isPurging, ...tenant }) => ({
          ...tenant,
          restorable_until: isPurging ? null : purgeTime(tenant.deleted_at, purgeDays),
        })),
        total,
      )
    },

    listPublic: () => publicList.get('', () => db.acrossTenants(store.listPublicTenants, 'read')),

    get: (caller, id) =>
      forCaller(
        db,
        caller,
        async (tx) => orNotFound(await store.findTenant(tx, id), 'tenant'),
        'read',
      ),

    create: (caller, tenant) =>
      db.acrossTenants(async (tx) => {
        await requireSignedIn(tx, caller)
        const created = await store.insertTenant(tx, tenant)
        tx.invalidate(`tenant:${created.id}`)
        await append(tx, actorOf(caller), {
          ...tenantEntry('tenant.created', created.id),
          changes: changesBetween<Tenant>(null, created, FIELDS),
        })
        return created
      }),

    update: (caller, id, change) =>
      forCaller(db, caller, async (tx) => {
        const active = change.is_active
        if (active === false && caller.role === 'superadmin') await store.lockOperators(tx)
        const before = await lock(tx, caller, id)
        if (active !== undefined && caller.role !== 'superadmin')
          throw new Problem('superadmin_required', {
            detail: 'Only a superadmin can activate or deactivate a tenant.',
          })
        if (active === false) await refuseLosing(tx, caller, before)
        if (differing(before, change).length === 0) return before
        const after = await store.updateTenant(tx, id, change)
        if (before.is_active && active === false)
          await endSessions(tx, { tenantId: id }, 'tenant_deactivated')
        tx.invalidate(`tenant:${id}`)
        if (after.is_active !== before.is_active)
          await append(tx, actorOf(caller), {
            ...tenantEntry(after.is_active ? 'tenant.activated' : 'tenant.deactivated', id),
            changes: changesBetween<Tenant>(before, after, ['is_active']),
          })
        const { is_active: _, ...rest } = change
        if (differing(before, rest).length > 0)
          await append(tx, actorOf(caller), {
            ...tenantEntry('tenant.updated', id),
            changes: changesBetween<Tenant>(before, after, ['name', 'settings']),
          })
        return after
      }),

    delete: (caller, id) =>
      db.acrossTenants(async (tx) => {
        await store.lockOperators(tx)
        const tenant = await lock(tx, caller, id)
        await refuseLosing(tx, caller, tenant)
        await store.markTenantDeleted(tx, id)
        await endSessions(tx, { tenantId: id }, 'tenant_deleted')
        tx.invalidate(`tenant:${id}`)
        await append(tx, actorOf(caller), tenantEntry('tenant.deleted', id))
      }),

    restore: (id, caller) =>
      db.acrossTenants(async (tx) => {
        const tenant = await store.unmarkDeleted(tx, id)
        // The caller's session may have ended while the update waited for a lock.
        if (caller) await requireSignedIn(tx, caller)
        if (!tenant)
          throw new Problem('not_found', { detail: `No deleted tenant has the id ${id}` })
        tx.invalidate(`tenant:${id}`)
        await append(tx, caller ? actorOf(caller) : SYSTEM, tenantEntry('tenant.restored', id))
        return tenant
      }),
  }
}

/** Returns when a deleted tenant is purged; null for a tenant that is not deleted. */
const purgeTime = (deletedAt: string | null, days: number): string | null =>
  deletedAt === null ? null : new Date(Date.parse(deletedAt) + days * DAY).toISOString()

const FIELDS = ['name', 'subdomain', 'settings', 'is_active'] as const

/**
 * Refuses to delete the platform tenant or the caller's own tenant, and refuses a change after which no superadmin
 * could sign in.
 */
async function refuseLosing(tx: TenantTx, caller: Admin, tenant: store.KnownTenant): Promise<void> {
  if (tenant.is_platform || tenant.id === caller.tenant_id) throw new Problem('tenant_protected')
  if ((await store.countOperators(tx, { tenantId: tenant.id })) === 0)
    throw new Problem('last_superadmin')
}

/** Returns the journal entry of an action on a tenant. The entry belongs to the same tenant. */
export const tenantEntry = (action: Extract<Action, `tenant.${string}`>, id: number) =>
  journalEntry(action, 'tenant', { id, tenant_id: id })
