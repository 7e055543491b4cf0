/** What other features and the composition root may use of departments. */

export { departmentOperations } from './departments.routes.ts'
export type { Department } from './departments.schema.ts'
export { type Departments, departmentsService, type MayHead } from './departments.service.ts'
export { findDepartment, insertDepartment } from './departments.store.ts'
