/** The departments' SQL. */
import { sql } from 'kysely'
import { MINUTE, SECOND } from '../../lib/clock.ts'
import { nameKey } from '../../lib/fold.ts'
import type { Asked, Found } from '../../lib/page.ts'
import {
  containsName,
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

/** The columns of an answer. The users are read only for the departments that the answer shows. */
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
  asked: Asked<DepartmentQuery>,
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

/** The public list is a bare array without pages, and ends here. */
const MAX_LISTED = 1_000

/** The departments of one tenant, for the public list. */
export function listPublicDepartments(tx: TenantTx): Promise<PublicDepartment[]> {
  return visible(tx)
    .select(['id', 'name'])
    .orderBy('name_key')
    .orderBy('id')
    .limit(MAX_LISTED)
    .execute()
}

/** Returns a department as an answer shows it. */
export function showDepartment(tx: TenantTx, id: number): Promise<Department | undefined> {
  return listed(tx).where('id', '=', id).executeTakeFirst()
}

export function findDepartment(tx: TenantTx, id: number): Promise<DepartmentRow | undefined> {
  return visible(tx).select(COLUMNS).where('id', '=', id).executeTakeFirst()
}

/** As `findDepartment`, and keeps others from changing it until the transaction ends; sent at once. */
export async function lockDepartment(tx: TenantTx, id: number): Promise<DepartmentRow | undefined> {
  const department = visible(tx).select(COLUMNS).where('id', '=', id).forUpdate()
  return (await tx.sendFor<DepartmentRow>(department.compile()).rows)[0]
}

/** A new name has to be one of its own in the tenant, also of a department that was a double. */
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

/** Stores the folded names of departments. One that folds like another of its tenant stays, marked as a double. */
export async function saveNameKeys(
  tx: TenantTx,
  rows: readonly { id: number; tenant_id: number; key: string }[],
): Promise<void> {
  for (const { id, tenant_id, key } of rows)
    await sql`update departments d set name_key = ${key}, is_folded = true, is_double = exists (
        select from departments o where o.tenant_id = ${tenant_id} and o.id <> ${id} and not o.is_double
          and split_part(o.name_key, chr(1), 1) = split_part(${key}, chr(1), 1))
      where d.id = ${id}`.execute(tx.db)
}

/** Returns it as it is now; undefined where its tenant has just been deleted. */
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

/** Leaves the departments of the user's tenant that they head without a head. Returns them, in the order of their ids. */
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
 * Deletes the department; its users and patients stay, without one. Each patient is written anew with it, in every
 * index, which takes 50 to 100 µs: within the usual limits of a statement, the server's and the driver's, a
 * department of 300,000 could never go. Returns what it deleted; undefined where its tenant has just been.
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

/** Destroys departments of a deleted tenant. */
export const purgeDepartments = purgerOf('departments')
