/** Who calls, and what they may: for routes to declare and services to ask for. */
export {
  type Access,
  admins,
  anyone,
  readers,
  requireOwnTenant,
  requireRole,
  signedIn,
  superadmins,
} from './access.ts'
export type { Admin, Caller, Identity, Origin, Reader, Restriction, Superadmin } from './caller.ts'
