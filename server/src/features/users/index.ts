/** What other features and the composition root may use of users. */

export { userOperations } from './users.routes.ts'
export { Profile } from './users.schema.ts'
export { type EndUserSessions, type Users, usersService } from './users.service.ts'
export { countUsers, insertUser, isActiveDoctor } from './users.store.ts'
