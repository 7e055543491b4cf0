/** Who calls, and what they may: for routes to declare and services to ask for. */
export {
  type Access,
  admins,
  anyone,
  ownTenant,
  readers,
  requireRole,
  signedIn,
  superadmins,
} from './access.ts'
export type { Admin, Caller, Identity, Origin, Reader, Superadmin } from './caller.ts'
