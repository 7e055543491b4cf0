/** The rules of departments. Each command is one transaction and one journal entry. */
import { type Page, toPage } from '../../lib/page.ts'
import { invalidValue, Problem } from '../../lib/problems.ts'
import { type Admin, ownTenant, type Reader } from '../../platform/access/index.ts'
import { forCaller, type Scopes, type TenantTx } from '../../platform/db/index.ts'
import { actorOf, append, changesBetween } from '../../platform/journal/index.ts'
import { findTenant, findTenantBySubdomain } from '../tenants/index.ts'
import type {
  Department,
  DepartmentChange,
  DepartmentQuery,
  NewDepartment,
  PublicDepartment,
} from './departments.schema.ts'
import * as store from './departments.store.ts'

/** Whether a user may head a department; handed in, as users know departments and not the reverse. */
export type MayHead = (tx: TenantTx, tenantId: number, userId: number) => Promise<boolean>

export interface Departments {
  list(caller: Reader, query: DepartmentQuery): Promise<Page<Department>>
  /** The departments of an active tenant, for the registration form. @throws Problem 404 */
  listPublic(subdomain: string): Promise<PublicDepartment[]>
  create(caller: Admin, department: NewDepartment): Promise<Department>
  update(caller: Admin, id: number, change: DepartmentChange): Promise<Department>
  delete(caller: Admin, id: number): Promise<void>
}

const FIELDS = ['name', 'head_doctor_id'] as const

export function departmentsService(db: Scopes, mayHead: MayHead): Departments {
  async function requireHead(tx: TenantTx, tenantId: number, id?: number | null): Promise<void> {
    if (!id || (await mayHead(tx, tenantId, id))) return
    throw invalidValue(['body', 'head_doctor_id'], 'this is no active doctor of the tenant')
  }

  return {
    async list(caller, query) {
      ownTenant(caller, query.tenant_id)
      const found = await forCaller(db, caller, (tx) => store.listDepartments(tx, query), 'read')
      return toPage(query, found)
    },

    async listPublic(subdomain) {
      const tenant = await db.acrossTenants(
        (tx) => findTenantBySubdomain(tx, subdomain.toLowerCase()),
        'read',
      )
      if (!tenant?.is_active || tenant.is_platform || tenant.settings.listed === false)
        throw new Problem('not_found', { detail: 'There is no tenant of this subdomain' })
      return db.inTenant(tenant.id, store.listPublicDepartments, 'read')
    },

    create: (caller, department) => {
      const tenantId = ownTenant(caller, department.tenant_id) ?? caller.tenant_id
      return forCaller(db, caller, async (tx) => {
        if (!(await findTenant(tx, tenantId)))
          throw new Problem('not_found', { detail: 'There is no such tenant' })
        await requireHead(tx, tenantId, department.head_doctor_id)
        const { name, head_doctor_id = null } = department
        const created = await store.insertDepartment(tx, {
          tenant_id: tenantId,
          name,
          head_doctor_id,
        })
        await append(tx, actorOf(caller), {
          ...entryOf('department.created', created),
          changes: changesBetween<Department>(null, created, FIELDS),
        })
        return created
      })
    },

    update: (caller, id, change) =>
      forCaller(db, caller, async (tx) => {
        const before = await found(store.lockDepartment(tx, id))
        await requireHead(tx, before.tenant_id, change.head_doctor_id)
        if (Object.keys(change).length === 0) return before
        const after = await store.updateDepartment(tx, id, change)
        tx.stale(`department:${id}`)
        await append(tx, actorOf(caller), {
          ...entryOf('department.updated', after),
          changes: changesBetween<Department>(before, after, FIELDS),
        })
        return after
      }),

    delete: (caller, id) =>
      forCaller(db, caller, async (tx) => {
        const department = await found(store.lockDepartment(tx, id))
        await store.deleteDepartment(tx, id)
        tx.stale(`department:${id}`)
        await append(tx, actorOf(caller), {
          ...entryOf('department.deleted', department),
          changes: changesBetween<Department>(department, null, FIELDS),
        })
      }),
  }
}

function entryOf(
  action: `department.${'created' | 'updated' | 'deleted'}`,
  department: Department,
) {
  return {
    action,
    tenant_id: department.tenant_id,
    resource_type: 'department',
    resource_id: department.id,
  }
}

async function found(department: Promise<Department | undefined>): Promise<Department> {
  const record = await department
  if (!record) throw new Problem('not_found', { detail: 'There is no such department' })
  return record
}
