export { findDepartment, insertDepartment } from './departments.store.ts'
export { openDepartments } from './departments.ts'
export { leaveHeadless } from './head-leaves.ts'
