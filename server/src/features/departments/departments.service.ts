/** The business rules of departments. Each command runs in one transaction and writes one journal entry. */

import { recent } from '../../lib/brief-cache.ts'
import { type Clock, SECOND } from '../../lib/clock.ts'
import type { Cursor } from '../../lib/cursor.ts'
import { type Page, toPage } from '../../lib/page.ts'
import { invalidValue, orNotFound, Problem, type Refuse } from '../../lib/problems.ts'
import {
  type Admin,
  type Auditor,
  type RequireSignedIn,
  requireOwnTenant,
} from '../../platform/access/index.ts'
import {
  type Changes,
  forCaller,
  inScope,
  listMode,
  parseTopic,
  type Scopes,
  scopeOf,
  type TenantTx,
} from '../../platform/db/index.ts'
import {
  actorOf,
  append,
  changesBetween,
  differing,
  journalEntry,
} from '../../platform/journal/index.ts'
import { findAskedTenant, findTenant, ofNamedTenant, shareTenant } from '../tenants/index.ts'
import {
  type Department,
  type DepartmentChange,
  type DepartmentQuery,
  type DepartmentRow,
  departmentList,
  type NewDepartment,
  type PublicDepartment,
} from './departments.schema.ts'
import * as store from './departments.store.ts'

/** Returns whether a user may be head. The users feature passes this in, because it imports departments. */
export type MayHead = (tx: TenantTx, tenantId: number, userId: number) => Promise<boolean>

/** The fields of a command that are checked against other data. `dept_id` is absent for a new department. */
export interface DepartmentReferences {
  dept_id?: number
  tenant_id?: number
  head_doctor_id?: number | null
}

export interface Departments {
  /** Checks the head. Calls `refuse` unless the head is an active doctor of the department's tenant. */
  checkReferences(caller: Admin, input: DepartmentReferences, refuse: Refuse): Promise<void>
  list(caller: Auditor, query: DepartmentQuery, from: Cursor | undefined): Promise<Page<Department>>
  /** Returns a department. @throws Problem 404 if the caller cannot see it */
  get(caller: Auditor, id: number): Promise<Department>
  /** Lists the departments of an active tenant for the registration form. @throws Problem 404 for an unknown tenant */
  listPublic(subdomain: string): Promise<PublicDepartment[]>
  create(caller: Admin, department: NewDepartment): Promise<Department>
  update(caller: Admin, id: number, change: DepartmentChange): Promise<Department>
  delete(caller: Admin, id: number): Promise<void>
}

const FIELDS = ['name', 'head_doctor_id'] as const

export interface DepartmentsDeps {
  db: Scopes
  clock: Clock
  changes: Pick<Changes, 'subscribe'>
  mayHead: MayHead
  requireSignedIn: RequireSignedIn
}

/** How long a public list is cached. The list needs a cache, because anyone can request it. */
const PUBLIC_FOR = 5 * SECOND
const MAX_PUBLIC = 1_000

export function departmentsService(deps: DepartmentsDeps): Departments {
  const { db, clock, changes, mayHead, requireSignedIn } = deps
  const publicLists = recent<PublicDepartment[] | undefined>(clock, PUBLIC_FOR, MAX_PUBLIC)
  changes.subscribe((topic) => {
    const kind = topic === null ? null : parseTopic(topic).kind
    if (kind === null || kind === 'tenant' || kind === 'department') publicLists.forget()
  })

  /** Lists a tenant's departments; undefined if the tenant is unknown, inactive or not publicly listed. */
  async function findPublic(subdomain: string): Promise<PublicDepartment[] | undefined> {
    const tenant = await db.acrossTenants((tx) => findAskedTenant(tx, { subdomain }), 'read')
    if (!tenant?.is_active || tenant.is_platform || tenant.settings.listed === false)
      return undefined
    return db.inTenant(tenant.id, store.listPublicDepartments, 'read')
  }

  const HEAD = ['body', 'head_doctor_id']

  /** Returns an error message if the user may not be the head of the department; undefined if the user may. */
  async function headIssue(tx: TenantTx, tenantId: number, id?: number | null) {
    if (!id || (await mayHead(tx, tenantId, id))) return undefined
    return 'must be an active doctor of the tenant'
  }

  async function requireHead(tx: TenantTx, tenantId: number, id?: number | null): Promise<void> {
    const issue = await headIssue(tx, tenantId, id)
    if (issue) throw invalidValue(HEAD, issue)
  }

  /** Locks a department, then checks the session and the tenant, which may have ended during the wait. */
  async function locked(tx: TenantTx, caller: Admin, id: number): Promise<DepartmentRow> {
    const [found] = await Promise.all([store.lockDepartment(tx, id), requireSignedIn(tx, caller)])
    const department = orNotFound(found, 'department')
    if (department.tenant_id !== caller.tenant_id)
      orNotFound(await findTenant(tx, department.tenant_id), 'department')
    return department
  }

  const show = async (tx: TenantTx, id: number) =>
    orNotFound(await store.showDepartment(tx, id), 'department')

  return {
    checkReferences: (caller, { dept_id, tenant_id, head_doctor_id }, refuse) =>
      // The transaction is not read-only, because `mayHead` locks the doctor's row.
      forCaller(db, caller, async (tx) => {
        const tenantId =
          dept_id === undefined
            ? (tenant_id ?? caller.tenant_id)
            : (await store.findDepartment(tx, dept_id))?.tenant_id
        // Checks the head only in the caller's tenant. The response must reveal nothing about other tenants.
        if (tenantId && (await findTenant(tx, tenantId)))
          refuse(HEAD, await headIssue(tx, tenantId, head_doctor_id))
      }),

    async list(caller, query, from) {
      const asked = { list: departmentList, caller, query, from }
      const scope = scopeOf(caller, query.tenant_id)
      const find = ofNamedTenant(asked, store.listDepartments)
      return toPage(asked, await inScope(db, scope, find, listMode(query)))
    },

    get: (caller, id) => forCaller(db, caller, (tx) => show(tx, id), 'read'),

    async listPublic(subdomain) {
      const name = subdomain.toLowerCase()
      const departments = await publicLists.get(name, () => findPublic(name))
      if (!departments)
        throw new Problem('not_found', {
          detail: 'No tenant has this subdomain. Check the subdomain.',
        })
      return departments
    },

    create: (caller, department) => {
      requireOwnTenant(caller, department.tenant_id)
      const tenantId = department.tenant_id ?? caller.tenant_id
      return forCaller(db, caller, async (tx) => {
        const [tenant] = await Promise.all([shareTenant(tx, tenantId), requireSignedIn(tx, caller)])
        orNotFound(tenant, 'tenant')
        await requireHead(tx, tenantId, department.head_doctor_id)
        const { name, head_doctor_id = null } = department
        const created = await store.insertDepartment(tx, {
          tenant_id: tenantId,
          name,
          head_doctor_id,
        })
        tx.invalidate(`department:${created.id}`)
        await append(tx, actorOf(caller), {
          ...journalEntry('department.created', 'department', created),
          changes: changesBetween<DepartmentRow>(null, created, FIELDS),
        })
        return show(tx, created.id)
      })
    },

    update: (caller, id, change) =>
      forCaller(db, caller, async (tx) => {
        const before = await locked(tx, caller, id)
        await requireHead(tx, before.tenant_id, change.head_doctor_id)
        if (differing(before, change).length === 0) return show(tx, id)
        const after = orNotFound(await store.updateDepartment(tx, id, change), 'department')
        tx.invalidate(`department:${id}`)
        await append(tx, actorOf(caller), {
          ...journalEntry('department.updated', 'department', after),
          changes: changesBetween<DepartmentRow>(before, after, FIELDS),
        })
        return show(tx, id)
      }),

    delete: (caller, id) =>
      forCaller(db, caller, async (tx) => {
        const { tenant_id } = await locked(tx, caller, id)
        const department = orNotFound(await store.deleteDepartment(tx, id), 'department')
        // Notifies the caches of patients, because the foreign key has removed the department from its patients.
        tx.invalidate(`department:${id}`, `patients:${tenant_id}`)
        await append(tx, actorOf(caller), {
          ...journalEntry('department.deleted', 'department', department),
          changes: changesBetween<DepartmentRow>(department, null, FIELDS),
        })
      }),
  }
}
