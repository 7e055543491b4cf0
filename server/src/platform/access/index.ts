/** Who calls, and what they may: for routes to declare and services to ask for. */
export {
  type Access,
  admins,
  anyone,
  auditors,
  clinicAdmins,
  clinicAuditors,
  clinicians,
  members,
  recordKeepers,
  requireOwnTenant,
  requireRole,
  signedIn,
  superadmins,
} from './access.ts'
export type {
  Admin,
  Auditor,
  Caller,
  ClinicAdmin,
  Identity,
  Member,
  Origin,
  Restriction,
  Superadmin,
} from './caller.ts'
export type { RequireSignedIn } from './signed-in.ts'
