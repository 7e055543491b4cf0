/** Callers and access rules, for routes and services. */
export {
  admins,
  anyone,
  auditors,
  clinicAdmins,
  clinicAuditors,
  clinicians,
  members,
  type OperationAccess,
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
  RequireSignedIn,
  Restriction,
  Superadmin,
} from './caller.ts'
