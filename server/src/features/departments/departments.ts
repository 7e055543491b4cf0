import type { Needs } from '../../core.ts'
import { foldsNames } from '../../platform/db/index.ts'
import type { Feature } from '../../platform/feature/feature.ts'
import { departmentOperations } from './departments.routes.ts'
import { type DepartmentsDeps, departmentsService } from './departments.service.ts'
import { purgeDepartments, saveDepartmentNameKeys } from './departments.store.ts'
import { DEPARTMENT_COLUMNS, DEPARTMENT_TABLES } from './departments.table.ts'
import { departmentHeadFix, type FindUnfitHeads } from './head.fix.ts'
import { DEPARTMENTS_FIGURES } from './overview.ts'

export function openDepartments(
  { db, clock, changes }: Needs<'db' | 'clock' | 'changes'>,
  {
    mayHead,
    requireSignedIn,
    findUnfitHeads,
  }: Pick<DepartmentsDeps, 'mayHead' | 'requireSignedIn'> & { findUnfitHeads: FindUnfitHeads },
): Feature {
  return {
    name: 'departments',
    tables: DEPARTMENT_TABLES,
    columns: DEPARTMENT_COLUMNS,
    operations: departmentOperations(
      departmentsService({ db, clock, changes, mayHead, requireSignedIn }),
    ),
    conflicts: { departments__name: 'department_name_taken' },
    figures: DEPARTMENTS_FIGURES,
    purgeRows: purgeDepartments,
    upkeep: [foldsNames(db, { table: 'departments', column: 'name' }, saveDepartmentNameKeys)],
    fixes: [departmentHeadFix(mayHead, findUnfitHeads)],
  }
}
