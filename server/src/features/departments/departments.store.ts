import { sql } from 'kysely'
import { MINUTE, SECOND } from '../../lib/clock.ts'
import { nameKey } from '../../lib/fold.ts'
import type { Found, PageRequest } from '../../lib/page.ts'
import {
  containsName,
  countRows,
  ofScope,
  purgerOf,
  readPage,
  type Scoped,
  type TenantTx,
} from '../../platform/db/index.ts'
import type {
  Department,
  DepartmentChange,
  DepartmentQuery,
  DepartmentRow,
  PublicDepartment,
} from './departments.schema.ts'
import './departments.table.ts'

const COLUMNS = ['id', 'tenant_id', 'name', 'head_doctor_id', 'created_at'] as const

/** The columns of a response. PostgreSQL runs the subqueries on users only for the departments in the response. */
const SHOWN = [
  ...COLUMNS,
  sql<string | null>`(select u.full_name from users u
    where u.tenant_id = departments.tenant_id and u.id = departments.head_doctor_id)`.as(
    'head_doctor_name',
  ),
  sql<number>`(select count(*) from users u
    where u.tenant_id = departments.tenant_id and u.department_id = departments.id)`.as('members'),
] as const

function visible(scope: Scoped) {
  return scope.db.selectFrom('departments').where(ofScope(scope, 'tenant_id'))
}

const listed = (scope: Scoped) => visible(scope).select(SHOWN)

export function listDepartments(
  tx: TenantTx,
  asked: PageRequest<DepartmentQuery>,
): Promise<Found<Department>> {
  const { search } = asked.query
  return readPage(tx, asked, listed, {
    filter: (departments) =>
      search ? departments.where(containsName(sql`lower(name_key)`, search)) : departments,
    columns: { name: 'name_key' },
    countedIn: ['departments'],
    isAll: true,
  })
}

/** The maximum length of the public list, which is returned without pagination. */
const MAX_LISTED = 1_000

/** Lists the departments of one tenant for the public list. */
export function listPublicDepartments(tx: TenantTx): Promise<PublicDepartment[]> {
  return visible(tx)
    .select(['id', 'name'])
    .orderBy('name_key')
    .orderBy('id')
    .limit(MAX_LISTED)
    .execute()
}

/** Returns a department with all fields of a response. */
export function showDepartment(tx: TenantTx, id: number): Promise<Department | undefined> {
  return listed(tx).where('id', '=', id).executeTakeFirst()
}

export function findDepartment(tx: TenantTx, id: number): Promise<DepartmentRow | undefined> {
  return visible(tx).select(COLUMNS).where('id', '=', id).executeTakeFirst()
}

/** Finds a department and locks its row. Sends the query without waiting for earlier queries. */
export async function lockDepartment(tx: TenantTx, id: number): Promise<DepartmentRow | undefined> {
  const department = visible(tx).select(COLUMNS).where('id', '=', id).forUpdate()
  return (await tx.sendFor<DepartmentRow>(department.compile()).rows)[0]
}

/** Returns the columns derived from a new name, which must be unique even if the old name was a duplicate. */
const keysOf = (name: string) => ({ name_key: nameKey(name), is_folded: true, is_double: false })

export function insertDepartment(
  tx: TenantTx,
  department: { tenant_id: number; name: string; head_doctor_id?: number | null },
): Promise<DepartmentRow> {
  return tx.db
    .insertInto('departments')
    .values({ head_doctor_id: null, ...department, ...keysOf(department.name) })
    .returning(COLUMNS)
    .executeTakeFirstOrThrow()
}

/** Stores folded names. Marks a department as a duplicate if another one of the tenant has the same folded name. */
export async function saveDepartmentNameKeys(
  tx: TenantTx,
  rows: readonly { id: number; tenant_id: number; key: string }[],
): Promise<void> {
  for (const { id, tenant_id, key } of rows)
    await sql`update departments d set name_key = ${key}, is_folded = true, is_double = exists (
        select from departments o where o.tenant_id = ${tenant_id} and o.id <> ${id} and not o.is_double
          and split_part(o.name_key, chr(1), 1) = split_part(${key}, chr(1), 1))
      where d.id = ${id}`.execute(tx.db)
}

/** Updates a department and returns the new row. Returns undefined if the department's tenant has just been deleted. */
export function updateDepartment(
  tx: TenantTx,
  id: number,
  change: DepartmentChange,
): Promise<DepartmentRow | undefined> {
  return tx.db
    .updateTable('departments')
    .set({ ...change, ...(change.name === undefined ? {} : keysOf(change.name)) })
    .where('id', '=', id)
    .where(ofScope(tx, 'tenant_id'))
    .returning(COLUMNS)
    .executeTakeFirst()
}

/** Removes a user as head from all departments of the user's tenant. Returns these departments, ordered by id. */
export async function clearHeads(
  tx: TenantTx,
  { id, tenant_id }: { id: number; tenant_id: number },
): Promise<DepartmentRow[]> {
  const left = await tx.db
    .updateTable('departments')
    .set({ head_doctor_id: null })
    .where('tenant_id', '=', tenant_id)
    .where('head_doctor_id', '=', id)
    .where(ofScope(tx, 'tenant_id'))
    .returning(COLUMNS)
    .execute()
  return left.sort((one, other) => one.id - other.id)
}

/**
 * Deletes a department and returns it; undefined if the department's tenant has just been deleted. Its users and
 * patients remain, without a department. Updating each patient in all indexes takes 50 to 100 µs, so a department of
 * 300,000 patients would exceed the usual time limits.
 */
export async function deleteDepartment(
  tx: TenantTx,
  id: number,
): Promise<DepartmentRow | undefined> {
  tx.send(sql`set local statement_timeout = '5min'`.compile(tx.db))
  const deleted = tx.db.deleteFrom('departments').where('id', '=', id)
  const statement = deleted.where(ofScope(tx, 'tenant_id')).returning(COLUMNS).compile()
  const waitMs = 5 * MINUTE + 2 * SECOND
  return (await tx.sendFor<DepartmentRow>({ ...statement, waitMs }).rows)[0]
}

/** Counts the departments, exactly up to the limit for exact totals. */
export async function countDepartments(
  tx: TenantTx,
): Promise<{ total: number; is_estimate: boolean }> {
  const { total, estimated } = await countRows(tx, visible(tx).select('id'))
  return { total, is_estimate: estimated }
}

/** Deletes the departments of a purged tenant. */
export const purgeDepartments = purgerOf('departments')
