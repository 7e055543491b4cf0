/** Public exports of the users feature for other features and the composition root. */

export { actingOn, type OnUser, type ReadUser, readingUsers } from './acting-on-users.ts'
export { type CheckPassword, passwordCheck } from './own-password.ts'
export {
  isAddressOfOther,
  isOperatorLeft,
  keptAccounts,
  leaveUnknownDepartments,
} from './restored.store.ts'
export { Profile, UserPath } from './users.schema.ts'
export { departmentIssue, requireDepartment } from './users.service.ts'
export { STATUS } from './users.status.ts'
export {
  findUnfitHeads,
  insertUser,
  isActiveDoctor,
  isEmailTaken,
  listAdmins,
  listSuperadmins,
  markVerified,
  recordSignIn,
  type SigningIn,
  setPassword,
  setTotpEnabledAt,
  signingIn,
} from './users.store.ts'
export { openUsers } from './users.ts'
