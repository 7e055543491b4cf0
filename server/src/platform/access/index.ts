/** Who calls, and what they may: for routes to declare and services to ask for. */
export {
  type Access,
  admins,
  anyone,
  auditors,
  requireOwnTenant,
  requireRole,
  signedIn,
  superadmins,
} from './access.ts'
export type { Admin, Auditor, Caller, Identity, Origin, Restriction, Superadmin } from './caller.ts'
