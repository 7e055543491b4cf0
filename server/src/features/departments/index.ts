/** What other features and the composition root may use of departments. */

export { findDepartment, insertDepartment } from './departments.store.ts'
export { openDepartments } from './departments.ts'
export { leaveHeadless } from './headless.ts'
