/** The roles of the service, in the order of menus. */
export const ROLES = ['superadmin', 'admin', 'doctor', 'nurse', 'receptionist', 'auditor'] as const

/** A role of the service. */
export type Role = (typeof ROLES)[number]

/** True for the roles that may change the users and settings of a clinic. */
export const isAdministrator = (role: Role): boolean => role === 'admin' || role === 'superadmin'

/** The name of each role. */
export const roleNames: Readonly<Record<Role, string>> = {
  superadmin: 'Superadmin',
  admin: 'Administrator',
  doctor: 'Doctor',
  nurse: 'Nurse',
  receptionist: 'Receptionist',
  auditor: 'Auditor',
}
