/** What other features and the composition root may use of users. */

export { userOperations } from './users.routes.ts'
export { Profile, UserPath } from './users.schema.ts'
export {
  type CheckPassword,
  type OnUser,
  requireDepartment,
  usersService,
} from './users.service.ts'
export { countUsers, insertUser, isActiveDoctor, listAdmins } from './users.store.ts'
