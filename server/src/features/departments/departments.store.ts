/** The departments' SQL. */
import { sql } from 'kysely'
import type { Asked, Found } from '../../lib/page.ts'
import {
  containing,
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
  PublicDepartment,
} from './departments.schema.ts'
import './departments.table.ts'

const COLUMNS = ['id', 'tenant_id', 'name', 'head_doctor_id', 'created_at'] as const

function visible(scope: Scoped) {
  return scope.db.selectFrom('departments').where(ofScope(scope, 'tenant_id'))
}

const listed = (scope: Scoped) => visible(scope).select(COLUMNS)

export function listDepartments(
  tx: TenantTx,
  asked: Asked<DepartmentQuery>,
): Promise<Found<Department>> {
  const { search } = asked.query
  return readPage(tx, asked, listed, {
    filter: (departments) =>
      search
        ? departments.where(sql<string>`lower(name)`, 'like', containing(search))
        : departments,
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
    .orderBy('name')
    .orderBy('id')
    .limit(MAX_LISTED)
    .execute()
}

export function findDepartment(tx: TenantTx, id: number): Promise<Department | undefined> {
  return visible(tx).select(COLUMNS).where('id', '=', id).executeTakeFirst()
}

/** As `findDepartment`, and keeps others from changing it until the transaction ends. */
export function lockDepartment(tx: TenantTx, id: number): Promise<Department | undefined> {
  return visible(tx).select(COLUMNS).where('id', '=', id).forUpdate().executeTakeFirst()
}

export function insertDepartment(
  tx: TenantTx,
  department: { tenant_id: number; name: string; head_doctor_id?: number | null },
): Promise<Department> {
  return tx.db
    .insertInto('departments')
    .values({ head_doctor_id: null, ...department })
    .returning(COLUMNS)
    .executeTakeFirstOrThrow()
}

export function updateDepartment(
  tx: TenantTx,
  id: number,
  change: DepartmentChange,
): Promise<Department> {
  return tx.db
    .updateTable('departments')
    .set(change)
    .where('id', '=', id)
    .where(ofScope(tx, 'tenant_id'))
    .returning(COLUMNS)
    .executeTakeFirstOrThrow()
}

/** Deletes the department; its users and patients stay, without one. */
export async function deleteDepartment(tx: TenantTx, id: number): Promise<void> {
  await tx.db
    .deleteFrom('departments')
    .where('id', '=', id)
    .where(ofScope(tx, 'tenant_id'))
    .execute()
}

/** Destroys departments of a deleted tenant. */
export const purgeDepartments = purgerOf('departments')
