/** What other features and the composition root may use of users. */

export { userOperations } from './users.routes.ts'
export { Profile, UserPath } from './users.schema.ts'
export {
  type CheckPassword,
  departmentFault,
  type OnUser,
  requireDepartment,
  usersService,
} from './users.service.ts'
export {
  countUsers,
  insertUser,
  isActiveDoctor,
  isEmailTaken,
  listAdmins,
  markVerified,
  setPassword,
} from './users.store.ts'
